import { describe, expect, it } from 'vitest'
import type { CallContext, StoredReply } from '../../src/contracts/index.js'
import { memoryIdempotency } from '../../src/memory/index.js'
import { createManualClock } from '../conformance/manual-clock.js'

const MIB = 1_024 * 1_024
const context: CallContext = { requestId: 'r', signal: new AbortController().signal }
const charge: StoredReply['charge'] = {
  cost: 1n,
  base: 1n,
  markup: 0n,
  basis: 'reported',
  byok: false,
  usage: { prompt: 1, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 },
}

function open(maxBytes?: number) {
  const clock = createManualClock(0)
  const store = memoryIdempotency({ clock, ...(maxBytes !== undefined && { maxBytes }) })
  const claim = (name: string, account = 'alice') =>
    store.claim({ claim: name, account, digest: 'd', leaseMs: 1_000 }, context)
  /** Claims and completes with a body of `bytes` bytes. Returns the number of bytes that the store kept. */
  const keep = async (
    name: string,
    bytes: number,
    account = 'alice',
    mode: StoredReply['mode'] = 'stream',
  ) => {
    await claim(name, account)
    await store.complete(name, { mode, bytes: 'x'.repeat(bytes), charge }, 60_000, context)
    return keptOf(name, account)
  }
  const keptOf = async (name: string, account = 'alice') => {
    const state = await claim(name, account)
    return state.state === 'done' ? (state.reply.bytes?.length ?? 'charge only') : state.state
  }
  return { clock, store, claim, keep, keptOf }
}

describe('memoryIdempotency', () => {
  it('keeps a body of 4 MiB, but only the charge of a larger one', async () => {
    const { keep } = open(64 * MIB)
    expect(await keep('fits', 4 * MIB)).toBe(4 * MIB)
    expect(await keep('larger', 4 * MIB + 1, 'bob')).toBe('charge only')
  })

  it('measures a JSON body in bytes on the wire', async () => {
    const { store, claim, keptOf } = open(64 * MIB)
    await claim('c')
    await store.complete('c', { mode: 'json', bytes: '日'.repeat(2 * MIB), charge }, 60_000, context)
    expect(await keptOf('c')).toBe('charge only')
  })

  it('keeps only charges beyond an account’s tenth, without affecting other accounts', async () => {
    const { keep, keptOf } = open(20 * MIB)
    expect(await keep('one', MIB)).toBe(MIB)
    expect(await keep('two', MIB)).toBe('charge only')
    expect(await keep('small', 1_000)).toBe(1_000)
    expect(await keep('other', MIB, 'bob')).toBe(MIB)
    expect(await keptOf('one')).toBe(MIB)
  })

  it('drops an account’s own oldest replies if it has too many small ones', async () => {
    const { keep, keptOf } = open(100 * 1_024)
    await keep('other', 10, 'bob')
    for (let number = 0; number < 50; number++) await keep(`c${number}`, 0)
    expect(await keptOf('other', 'bob')).toBe(10)
    expect(await keptOf('c49')).toBe(0)
    expect(await keptOf('c0')).toBe('mine')
  })

  it('counts the age of a reply from its completion, not from its claim', async () => {
    const { claim, keep, keptOf } = open(100 * 1_024)
    await claim('slow')
    for (let number = 1; number <= 8; number++) await keep(`c${number}`, 0)
    await keep('slow', 0)
    for (let number = 9; number <= 10; number++) await keep(`c${number}`, 0)
    expect(await keptOf('slow')).toBe(0)
    expect(await keptOf('c1')).toBe('mine')
  })

  it('keeps nothing for a lifetime of 0 ms', async () => {
    const { clock, store } = open()
    await store.claim({ claim: 'c', account: 'alice', digest: 'd', leaseMs: 0 }, context)
    clock.advance(2)
    expect(await store.claim({ claim: 'c', account: 'alice', digest: 'd', leaseMs: 1_000 }, context)).toEqual(
      { state: 'mine' },
    )
    await store.complete('c', { mode: 'json', bytes: '{}', charge }, 0, context)
    clock.advance(2)
    expect(await store.claim({ claim: 'c', account: 'alice', digest: 'd', leaseMs: 1_000 }, context)).toEqual(
      { state: 'mine' },
    )
  })

  it('frees an account’s share when its replies expire', async () => {
    const { clock, keep } = open(20 * MIB)
    expect(await keep('one', MIB)).toBe(MIB)
    clock.advance(60_001)
    expect(await keep('one', MIB)).toBe(MIB)
    expect(await keep('two', MIB)).toBe('charge only')
  })

  it('does not count expired replies against their account', async () => {
    const { clock, keep } = open(20 * MIB)
    expect(await keep('one', MIB)).toBe(MIB)
    expect(await keep('two', MIB)).toBe('charge only')
    clock.advance(60_001)
    expect(await keep('three', MIB)).toBe(MIB)
  })

  it('drops the least recently used reply of any account when it is full', async () => {
    const { keep, keptOf } = open(10 * MIB)
    for (let number = 0; number < 12; number++) await keep(`c${number}`, MIB - 4_096, `account-${number}`)
    expect(await keptOf('c11', 'account-11')).toBe(MIB - 4_096)
    expect(await keptOf('c0', 'account-0')).toBe('mine')
  })

  it('ignores a reply whose claim has expired', async () => {
    const { clock, store, claim } = open()
    await claim('c')
    clock.advance(1_001)
    await store.complete('c', { mode: 'json', bytes: '{}', charge }, 60_000, context)
    expect((await claim('c')).state).toBe('mine')
  })

  it.each([0, 1.5, 10_239, Number.NaN])('refuses maxBytes: %s', (maxBytes) => {
    expect(() => memoryIdempotency({ maxBytes })).toThrow(
      /^memoryIdempotency: maxBytes must be (?:at least 10,240|a whole number); got /,
    )
  })
})
