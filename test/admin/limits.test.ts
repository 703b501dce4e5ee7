import { describe, expect, it } from 'vitest'
import { createAdmin, type LimitRequest } from '../../src/admin/index.js'
import type { HoldLimit, Limit } from '../../src/contracts/index.js'
import { bucketOf } from '../../src/rules/bucket-of.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'

const TOTAL: HoldLimit['windows'] = [[0, 8_640_000_000_000_000]]

describe.each(engineNames)('limits on %s', (name) => {
  const engine = useEngine(name)
  let opened = 0

  async function open() {
    const stores = engine.open(`limits_${opened++}`)
    const admin = createAdmin(stores)
    await admin.accounts.open('alice')
    await admin.accounts.credit({ account: 'alice', amount: '5' })
    const key = await admin.keys.issue({ account: 'alice' })
    const principalOf = async (token: string) => {
      const found = await stores.credentials.resolve(token, context)
      return found.ok ? found.principal : undefined
    }
    return { stores, admin, key, principalOf }
  }

  const month = (ownerId: string, more: Partial<LimitRequest> = {}): LimitRequest => ({
    ...{ id: 'budget', of: 'credential', ownerId, unit: 'credits', amount: '20', per: 'month' },
    ...more,
  })

  it('are looked up with the credential, its account and its app', async () => {
    const { admin, key, principalOf } = await open()
    await admin.apps.put({ id: 'app', markup: { basisPoints: 0 }, allowedModels: [] })
    await admin.apps.put({ id: 'alice', markup: { basisPoints: 0 }, allowedModels: [] })
    const grant = await admin.keys.issueToken({ account: 'alice', appId: 'app', scopes: ['models.run'] })
    await admin.limits.put(month(key.credentialId, { zone: 'Asia/Tokyo' }))
    await admin.limits.put(
      month('alice', { id: 'rate', of: 'account', unit: 'requests', amount: '60', per: 'minute' }),
    )
    await admin.limits.put(
      month('app', { id: 'tokens', of: 'app', unit: 'tokens', amount: '9', per: 'total' }),
    )
    await admin.limits.put(month('alice', { id: 'other', of: 'app' }))
    await admin.limits.put(month(grant.credentialId, { id: 'grant' }))
    const budget = { of: 'credential', unit: 'credits', amount: 20_000_000_000n, per: 'month' }
    const rate = { id: 'rate', of: 'account', ownerId: 'alice', unit: 'requests', amount: 60n, per: 'minute' }
    expect((await principalOf(key.token))?.limits).toEqual([
      { id: 'budget', ownerId: key.credentialId, ...budget, zone: 'Asia/Tokyo' },
      rate,
    ])
    expect((await principalOf(grant.token))?.limits).toEqual([
      { id: 'grant', ownerId: grant.credentialId, ...budget },
      rate,
      { id: 'tokens', of: 'app', ownerId: 'app', unit: 'tokens', amount: 9n, per: 'total' },
    ])
  })

  it('are made with a key or a token, in one step', async () => {
    const { admin, principalOf } = await open()
    await admin.apps.put({ id: 'app', markup: { basisPoints: 0 }, allowedModels: [] })
    const limits = [
      { unit: 'credits', amount: '20.5', per: 'month', zone: 'Asia/Tokyo' },
      { unit: 'requests', amount: '60', per: 'minute' },
      { unit: 'tokens', amount: '9000', per: 'week', zone: 'Asia/Tokyo' },
    ] as const
    const made = await admin.keys.issue({ account: 'alice', limits })
    const token = await admin.keys.issueToken({
      account: 'alice',
      appId: 'app',
      scopes: ['models.run'],
      limits: [limits[1]],
    })
    const rate = { of: 'credential', unit: 'requests', amount: 60n, per: 'minute' }
    expect((await principalOf(made.token))?.limits).toEqual([
      {
        id: `${made.credentialId}-credits-month`,
        of: 'credential',
        ownerId: made.credentialId,
        unit: 'credits',
        amount: 20_500_000_000n,
        per: 'month',
        zone: 'Asia/Tokyo',
      },
      { id: `${made.credentialId}-requests-minute`, ownerId: made.credentialId, ...rate },
      {
        id: `${made.credentialId}-tokens-week`,
        of: 'credential',
        ownerId: made.credentialId,
        unit: 'tokens',
        amount: 9_000n,
        per: 'week',
        zone: 'Asia/Tokyo',
      },
    ])
    expect((await principalOf(token.token))?.limits).toEqual([
      { id: `${token.credentialId}-requests-minute`, ownerId: token.credentialId, ...rate },
    ])
    await admin.limits.put({ ...month(made.credentialId), id: `${made.credentialId}-credits-month` })
    expect(await admin.limits.list({ ownerId: made.credentialId })).toMatchObject([
      { amount: 20_000_000_000n },
      {},
      { per: 'week' },
    ])
  })

  it.each([
    ['limits.0.amount', [{ unit: 'credits', amount: 'much', per: 'month' }]],
    ['limits.0.amount', [{ unit: 'credits', amount: '9999999999999', per: 'month' }]],
    [
      'limits.1.amount',
      [
        { unit: 'credits', amount: '1', per: 'day' },
        { unit: 'requests', amount: '1.5', per: 'day' },
      ],
    ],
    ['limits.0.zone', [{ unit: 'credits', amount: '1', per: 'minute', zone: 'Asia/Tokyo' }]],
    [
      'limits',
      [
        { unit: 'credits', amount: '1', per: 'day' },
        { unit: 'credits', amount: '2', per: 'day' },
      ],
    ],
    ['limits', Array.from({ length: 11 }, () => ({ unit: 'credits', amount: '1', per: 'day' }) as const)],
  ] as const)('leave no key if one of them is wrong: %s', async (field, limits) => {
    const { admin } = await open()
    await expect(admin.keys.issue({ account: 'alice', label: 'wrong', limits })).rejects.toMatchObject({
      code: 'invalid_input',
      of: 'key',
      field,
    })
    const keys = await admin.keys.list({ account: 'alice' })
    expect(keys.filter(({ label }) => label === 'wrong')).toEqual([])
  })

  it('are not made if the account has the most keys that are allowed', async () => {
    const stores = engine.open(`limits_${opened++}`)
    const admin = createAdmin(stores, { keysPerAccount: 1 })
    await admin.keys.issue({ account: 'alice' })
    const limits = [{ unit: 'credits', amount: '1', per: 'day' }] as const
    await expect(admin.keys.issue({ account: 'alice', limits })).rejects.toThrow('the most that are allowed')
    expect(await admin.limits.list()).toEqual([])
  })

  it('show what is used, held and left, and the end of the period', async () => {
    const { admin, key, principalOf, stores } = await open()
    await admin.limits.put(month(key.credentialId, { amount: '0.0000001', per: 'total' }))
    const [limit] = (await principalOf(key.token))!.limits!
    const bucket = bucketOf(limit!)
    const held = (amount: bigint): readonly HoldLimit[] => [
      { bucket, unit: 'credits', limit: 100n, amount, windows: TOTAL },
    ]
    const first = createHold('alice', 60n, { limits: held(60n) })
    expect(await stores.ledger.hold(first, context)).toMatchObject({ ok: true, limits: [{ left: 40n }] })
    await stores.ledger.settle(
      createSettle(first.holdId, 'alice', 50n, { limits: [{ bucket, unit: 'credits', from: 0, used: 50n }] }),
      context,
    )
    await stores.ledger.hold(createHold('alice', 30n, { limits: held(30n) }), context)
    const [row] = await admin.limits.list({ ownerId: key.credentialId })
    expect(row).toMatchObject({
      id: 'budget',
      of: 'credential',
      used: 50n,
      held: 30n,
      left: 20n,
      amount: 100n,
    })
    expect(row).not.toHaveProperty('endsAt')
    await admin.limits.put(month(key.credentialId, { amount: '0.00000007', per: 'total' }))
    expect(await admin.limits.list()).toMatchObject([{ used: 50n, held: 30n, left: 0n }])
    await admin.limits.put(month(key.credentialId))
    const [changed] = await admin.limits.list()
    expect(changed).toMatchObject({ used: 0n, held: 0n, left: 20_000_000_000n })
    expect(changed!.endsAt).toBeGreaterThan(Date.now())
  })

  it('keep no use of another owner who had the id before, and go on with their own', async () => {
    const { admin, key, principalOf, stores } = await open()
    const other = await admin.keys.issue({ account: 'alice' })
    const usedBy = async (ownerId: string) => {
      await admin.limits.put(month(ownerId, { per: 'total' }))
      return (await admin.limits.list()).map((row) => [row.ownerId, row.used])
    }
    await usedBy(key.credentialId)
    const bucket = bucketOf((await principalOf(key.token))!.limits![0]!)
    const limits: readonly HoldLimit[] = [
      { bucket, unit: 'credits', limit: 100n, amount: 60n, windows: TOTAL },
    ]
    const hold = createHold('alice', 60n, { limits })
    expect(await stores.ledger.hold(hold, context)).toMatchObject({ ok: true })
    await admin.limits.remove('budget')
    await stores.ledger.settle(
      createSettle(hold.holdId, 'alice', 50n, { limits: [{ bucket, unit: 'credits', from: 0, used: 50n }] }),
      context,
    )
    expect(await usedBy(other.credentialId)).toEqual([[other.credentialId, 0n]])
    await admin.limits.remove('budget')
    expect(await usedBy(key.credentialId)).toEqual([[key.credentialId, 50n]])
  })

  it('are removed, and reported to watches', async () => {
    const { admin, key, principalOf, stores } = await open()
    const heard: (string | undefined)[] = []
    const end = stores.credentials.watch!((id) => heard.push(id))
    await admin.limits.put(month(key.credentialId))
    await expect.poll(() => heard).toContain(key.credentialId)
    heard.length = 0
    expect(await admin.limits.remove('budget')).toBe(true)
    await expect.poll(() => heard).toContain(undefined)
    expect(await admin.limits.remove('budget')).toBe(false)
    expect(await principalOf(key.token)).not.toHaveProperty('limits')
    end()
  })

  it('are refused with a clear message if invalid', async () => {
    const { admin, key } = await open()
    const refused = (more: Partial<LimitRequest>, message: string) =>
      expect(admin.limits.put(month(key.credentialId, more))).rejects.toThrow(message)
    await refused({ zone: 'Mars/Base' }, 'limit.zone: must be the name of a time zone')
    await refused({ zone: 'UTC', per: 'hour' }, 'limit.zone: is only for limits per day, week or month')
    await refused({ unit: 'requests', amount: '1.5' }, 'limit.amount: must be a whole number of requests')
    await refused({ amount: '-1' }, 'limit.amount: must be a decimal string of credits')
    await refused({ ownerId: 'nobody' }, 'There is no credential "nobody"')
    await refused({ ownerId: 'bob', of: 'account' }, 'There is no account "bob"')
    await admin.limits.put(month(key.credentialId))
    await refused({ ownerId: 'alice', of: 'account' }, 'Another owner has the limit "budget"')
    expect(await admin.limits.list()).toHaveLength(1)
  })

  it('are compared with entries and holds by verify', async () => {
    const { admin, stores } = await open()
    const limits: readonly Limit[] = [
      { id: 'budget', unit: 'credits', amount: 100n, per: 'total' },
      { id: 'rate', unit: 'requests', amount: 100n, per: 'total' },
    ]
    const [budget, rate] = limits.map(bucketOf) as [string, string]
    // The period began now, since holds of older periods may have been deleted.
    const from = Date.now() - 1_000
    const windows: HoldLimit['windows'] = [[from, TOTAL[0]![1]]]
    const hold = (amount: bigint) =>
      createHold('alice', amount, {
        limits: [
          { bucket: budget, unit: 'credits', limit: 100n, amount, windows },
          { bucket: rate, unit: 'requests', limit: 100n, amount: 1n, windows },
        ],
      })
    const [settled, released, first] = [hold(10n), hold(20n), hold(5n)]
    for (const each of [settled, released, first]) await stores.ledger.hold(each, context)
    await stores.ledger.hold({ ...hold(30n), replaces: first.holdId }, context)
    await stores.ledger.release(released, context)
    const uses = [
      { bucket: budget, unit: 'credits', from, used: 7n },
      { bucket: rate, unit: 'requests', from, used: 1n },
    ] as const
    await stores.ledger.settle(createSettle(settled.holdId, 'alice', 7n, { limits: uses }), context)
    expect(await admin.maintenance.verify()).toEqual([])
    const change = (text: string) => stores.database.all({ text })
    await change("update {limit_buckets} set used = used - 2 where id like 'rate%'")
    await change("update {limit_buckets} set used = used + 1, held = held - 30 where id like 'budget%'")
    const found = await admin.maintenance.verify()
    expect(found.map(({ what, id, found, expected }) => [what, id, found, expected])).toEqual([
      ['limit-held', budget, 0n, 30n],
      ['limit-used', budget, 8n, 7n],
      ['limit-used', rate, 1n, 3n],
    ])
    expect(found[1]!.message).toContain('has counted 0.000000008 as used')
    expect(found[2]!.message).toContain('has counted 1 as used')
  })
})
