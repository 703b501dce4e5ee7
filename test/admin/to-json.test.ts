import { describe, expect, expectTypeOf, it } from 'vitest'
import { createAdmin, toJson } from '../../src/admin/index.js'
import type { Balance } from '../../src/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'

describe('toJson', () => {
  it('writes amounts as decimal strings at any depth', () => {
    const charge = { cost: 1_200_000n, usage: { prompt: 5 }, parts: [-1n, 0n, 25_000_000_000n] }
    expect(toJson({ charge, note: null, missing: undefined })).toEqual({
      charge: { cost: '0.0012', usage: { prompt: 5 }, parts: ['-0.000000001', '0', '25'] },
      note: null,
    })
    expect(toJson(undefined)).toBeUndefined()
    expect(toJson(2n ** 63n - 1n)).toBe('9223372036.854775807')
    expect(charge.cost).toBe(1_200_000n)
  })

  it('writes request and token counts of limits as integers', () => {
    expect(
      toJson([
        { unit: 'requests', amount: 60n, inner: { left: 12n } },
        { unit: 'credits', amount: 60n },
      ]),
    ).toEqual([
      { unit: 'requests', amount: '60', inner: { left: '12' } },
      { unit: 'credits', amount: '0.00000006' },
    ])
  })

  it('has types that match what it writes', () => {
    expectTypeOf(toJson({} as Balance)).toEqualTypeOf<{
      readonly posted: string
      readonly held: string
      readonly available: string
    }>()
    expectTypeOf(toJson([] as readonly { at?: number; cost: bigint | undefined }[])).toEqualTypeOf<
      readonly { readonly at?: number; readonly cost: string | undefined }[]
    >()
  })
})

describe.each(engineNames)('the results of admin functions on %s', (name) => {
  const engine = useEngine(name)

  it('can be sent in a JSON response', async () => {
    const admin = createAdmin(engine.open('to_json'))
    const entry = await admin.accounts.credit({ account: 'alice', amount: '25.10' })
    await admin.limits.put({
      id: 'rate',
      of: 'account',
      ownerId: 'alice',
      unit: 'requests',
      per: 'minute',
      amount: '60',
    })
    const results = {
      entry,
      balance: await admin.accounts.balance('alice'),
      none: await admin.accounts.balance('nobody'),
      accounts: await admin.accounts.list(),
      entries: await admin.entries.list(),
      limits: await admin.limits.list(),
      statement: await admin.accounts.statement('alice'),
      spend: await admin.reports.spendReport({ by: 'day' }),
    }
    expect(JSON.parse(JSON.stringify(toJson(results)))).toMatchObject({
      entry: { postings: [{ amount: '25.1' }] },
      balance: { posted: '25.1', held: '0', available: '25.1' },
      accounts: [{ id: 'alice', balance: { posted: '25.1' } }],
      entries: { entries: [{ postings: [{ amount: '25.1' }] }] },
      limits: [{ amount: '60', used: '0', held: '0', left: '60' }],
      statement: { credited: '25.1', posted: '25.1' },
      spend: { total: { cost: '0' } },
    })
  })
})
