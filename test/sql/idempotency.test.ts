import { describe, expect, it } from 'vitest'
import type { StoredReply } from '../../src/contracts/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createCharge } from '../helpers/ledger-requests.js'

const request = { claim: 'c', account: 'alice', digest: 'd', leaseMs: 60_000 }
const reply: StoredReply = {
  mode: 'stream',
  bytes: 'data: {"a":"\u0000\u00ff"}\n\n',
  charge: createCharge(2n ** 60n, { shortfall: 5n, priceVersion: 'v1' }),
}

describe.each(engineNames)('the idempotency store in %s', (name) => {
  const engine = useEngine(name)

  it('gives the claim to one of many callers in two processes', async () => {
    const stores = [engine.open('claims'), engine.open('claims')]
    const states = await Promise.all(
      Array.from({ length: 40 }, (_, index) => stores[index % 2]!.idempotency.claim(request, context)),
    )
    expect(states.filter(({ state }) => state === 'mine').length).toBe(1)
    expect(states.filter(({ state }) => state === 'in-flight').length).toBe(39)
  })

  it('replays the stored reply byte for byte, and recognises a different request', async () => {
    const { idempotency } = engine.open('replays')
    expect(await idempotency.claim(request, context)).toEqual({ state: 'mine' })
    expect(await idempotency.claim({ ...request, digest: 'e' }, context)).toEqual({ state: 'mismatch' })
    await idempotency.complete('c', reply, 60_000, context)
    expect(await idempotency.claim(request, context)).toEqual({ state: 'done', reply })
    expect(await idempotency.claim({ ...request, digest: 'e' }, context)).toEqual({ state: 'mismatch' })
    await idempotency.abandon('c', context)
    expect(await idempotency.claim(request, context)).toEqual({ state: 'done', reply })
  })

  it('frees a claim if it was abandoned, its lease ran out or its reply has expired', async () => {
    const { idempotency } = engine.open('freed')
    await idempotency.claim(request, context)
    await idempotency.abandon('c', context)
    expect(await idempotency.claim({ ...request, leaseMs: 0 }, context)).toEqual({ state: 'mine' })
    expect(await idempotency.claim(request, context)).toEqual({ state: 'mine' })
    await idempotency.complete('c', reply, 0, context)
    expect(await idempotency.claim({ ...request, digest: 'e' }, context)).toEqual({ state: 'mine' })
    // It expires after it was completed: earlier expired replies are deleted with it.
    await idempotency.complete('c', reply, 20, context)
    const again = () => idempotency.claim({ ...request, digest: 'f' }, context)
    await expect.poll(again).toEqual({ state: 'mine' })
    expect(await again()).toEqual({ state: 'in-flight' })
    await idempotency.abandon('c', context)
    expect(await idempotency.claim(request, context)).toEqual({ state: 'mine' })
    await idempotency.complete('nobody', reply, 60_000, context)
    expect(await idempotency.claim({ ...request, claim: 'nobody' }, context)).toEqual({ state: 'mine' })
  })

  it('keeps a body of 4 MiB, but only the charge of a larger one', async () => {
    const { idempotency } = engine.open('large')
    await idempotency.claim({ ...request, claim: 'fits' }, context)
    const fits = { ...reply, mode: 'json' as const, status: 200, bytes: 'ü'.repeat(2 * 1024 * 1024) }
    await idempotency.complete('fits', fits, 60_000, context)
    expect(await idempotency.claim({ ...request, claim: 'fits' }, context)).toEqual({
      state: 'done',
      reply: fits,
    })
    await idempotency.claim(request, context)
    const large = { ...reply, mode: 'json' as const, status: 200, bytes: 'ü'.repeat(2 * 1024 * 1024 + 1) }
    await idempotency.complete('c', large, 60_000, context)
    const { bytes: _, ...rest } = large
    expect(await idempotency.claim(request, context)).toEqual({ state: 'done', reply: rest })
  })

  it('deletes expired replies', async () => {
    const { idempotency, database } = engine.open('tidied')
    for (let index = 0; index < 6; index++) {
      await idempotency.claim({ ...request, claim: `old-${index}`, leaseMs: 0 }, context)
    }
    for (let index = 0; index < 2; index++) {
      await idempotency.claim({ ...request, claim: `new-${index}` }, context)
      await idempotency.complete(`new-${index}`, reply, 60_000, context)
    }
    const rows = await database.all({ text: 'select claim from {replies} order by claim' })
    expect(rows.map((row) => row.claim)).toEqual(['new-0', 'new-1'])
  })
})
