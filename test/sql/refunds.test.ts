import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import type { Posting } from '../../src/contracts/index.js'
import { bucketOf } from '../../src/rules/bucket-of.js'
import { refundPostings } from '../../src/sql/refund-shares.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createCharge, createFacts, createHold, createSettle } from '../helpers/ledger-requests.js'
import { createRandom } from '../simulation/random.js'

const nanos = (amount: bigint): string => `0.${amount.toString().padStart(9, '0')}`

describe('the postings of refunds', () => {
  it('add up to zero, never exceed the charge for any account, and reverse the whole charge in the end', () => {
    const random = createRandom('refunds')
    for (let round = 0; round < 2_000; round++) {
      const earned = Array.from({ length: random.int(1, 3) }, () => BigInt(random.int(1, 1_000)))
      const cost = earned.reduce((sum, amount) => sum + amount, 0n)
      const charge: Posting[] = [
        { account: 'payer', amount: -cost },
        ...earned.map((amount, index) => ({ account: `earner-${index}`, amount })),
      ]
      const left = new Map(charge.map(({ account, amount }) => [account, amount]))
      for (let before = 0n; before < cost; ) {
        const after = before + BigInt(random.int(1, Number(cost - before)))
        const postings = refundPostings(charge, { cost, before, after })
        expect(postings.reduce((sum, { amount }) => sum + amount, 0n)).toBe(0n)
        for (const { account, amount } of postings) {
          const was = left.get(account)!
          const now = was + amount
          // Each refund moves each account towards 0, and none beyond it.
          expect(account === 'payer' ? was <= now && now <= 0n : was >= now && now >= 0n).toBe(true)
          left.set(account, now)
        }
        expect(left.get('payer')).toBe(after - cost)
        before = after
      }
      expect([...left.values()].every((amount) => amount === 0n)).toBe(true)
    }
  })
})

describe.each(engineNames)('refunds on %s', (name) => {
  const engine = useEngine(name)
  let opened = 0

  /** Opens books with a charge of 1,001: 700 to the platform, 301 to the app's account. */
  async function openBooks() {
    const stores = engine.open(`refunds_${opened++}`)
    const admin = createAdmin(stores)
    await admin.accounts.credit({ account: 'alice', amount: '0.00001' })
    const facts = createFacts('alice', { appId: 'app', sessionId: 's', provider: 'p', requestId: 'r-7' })
    const settle = (holdId: string, cost: bigint, postings: readonly Posting[], rest = {}) =>
      stores.ledger.settle(
        createSettle(holdId, 'alice', cost, { postings, facts, charge: createCharge(cost, rest) }),
        context,
      )
    await settle(
      'shared',
      1_001n,
      [
        { account: 'alice', amount: -1_001n },
        { account: 'platform', amount: 700n },
        { account: 'app-owner', amount: 301n },
      ],
      { base: 700n, markup: 301n },
    )
    const idOf = async (holdId: string) =>
      (await admin.entries.list()).entries.find((entry) => entry.holdId === holdId)!.id
    const balances = async () =>
      Promise.all(
        ['alice', 'platform', 'app-owner'].map(
          async (account) => (await admin.accounts.balance(account))?.posted,
        ),
      )
    return { ...stores, admin, settle, idOf, balances, facts }
  }

  it('name the charge by the reply that it paid for, as long as the call is kept', async () => {
    const { admin, calls, facts, idOf } = await openBooks()
    const of = await idOf('shared')
    const kept = {
      operation: 'chat',
      at: Date.now(),
      durationMs: 5,
      outcome: 'completed',
      status: 200,
      facts,
    }
    const charge = createCharge(1_001n)
    calls.record({ ...kept, id: 'reply-1', requestId: 'r-7', holdId: 'shared', charge })
    calls.record({ ...kept, id: 'reply-2', requestId: 'r-8', holdId: 'unknown', charge })
    await expect.poll(() => admin.calls.find('reply-2')).toBeDefined()
    expect(await admin.calls.find('reply-1')).toMatchObject({ id: 'reply-1', entryId: of })
    expect(await admin.calls.find('reply-2')).not.toHaveProperty('entryId')

    const refund = await admin.entries.refund('reply-1', nanos(1n), { reference: 'ticket 8' })
    expect(refund).toMatchObject({ refund: { of, amount: 1n }, reference: 'ticket 8' })
    expect(await admin.entries.refund('reply-1', nanos(1n), { reference: 'ticket 8' })).toMatchObject({
      id: refund.id,
      isRepeat: true,
    })
    for (const other of ['reply-2', 'r-7', 'nothing']) {
      await expect(admin.entries.refund(other)).rejects.toThrow(`There is no charge "${other}"`)
    }
  })

  it('reverse a whole charge once, as an entry of their own with the facts of the call', async () => {
    const { admin, balances, facts, idOf } = await openBooks()
    const of = await idOf('shared')
    const refund = await admin.entries.refund(of, undefined, { memo: 'wrong answer' })
    expect(refund).toMatchObject({
      kind: 'refund',
      refund: { of, amount: 1_001n },
      memo: 'wrong answer',
      facts,
    })
    expect(refund).not.toHaveProperty('isRepeat')
    expect(refund).not.toHaveProperty('charge')
    expect(refund.postings).toEqual([
      { account: 'platform', amount: -700n },
      { account: 'app-owner', amount: -301n },
      { account: 'alice', amount: 1_001n },
    ])
    expect(await balances()).toEqual([10_000n, 0n, 0n])
    await expect(admin.entries.refund(of)).rejects.toThrow(
      `The charge ${of} of 0.000001001 credits has been refunded already`,
    )
    expect(await balances()).toEqual([10_000n, 0n, 0n])
    expect(await admin.maintenance.verify()).toEqual([])
    const found = await Promise.all([
      admin.entries.list({ account: 'app-owner', limit: 1 }),
      admin.entries.list({ account: 'alice', sessionId: 's', limit: 1 }),
      admin.entries.list({ model: 'acme/fast', limit: 1 }),
      admin.entries.list({ payer: 'alice', requestId: 'r-7', limit: 1 }),
    ])
    for (const { entries } of found) expect(entries).toEqual([refund])
  })

  it('appear in the statements of all accounts that they change, but not in the spend', async () => {
    const { admin, idOf } = await openBooks()
    await admin.entries.refund(await idOf('shared'), nanos(143n))
    const sums = async (account: string) => {
      const { credited, corrected, refunded, earned, spent, posted } = (await admin.accounts.statement(
        account,
      ))!
      expect(credited + corrected + refunded + earned - spent).toBe(posted)
      return refunded
    }
    expect(await Promise.all(['alice', 'platform', 'app-owner'].map(sums))).toEqual([143n, -100n, -43n])
    expect(await admin.reports.spend({ by: 'model' })).toMatchObject([{ calls: 1, cost: 1_001n }])
    expect((await admin.reports.spendReport({ by: 'model' })).books).toMatchObject({
      debited: 1_001n,
      isEqual: true,
    })
  })

  it('in parts are never more than the charge, however many run concurrently', async () => {
    const { admin, balances, idOf } = await openBooks()
    const of = await idOf('shared')
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) =>
        admin.entries.refund(of, nanos(99n), { reference: `part ${index}` }),
      ),
    )
    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(2)
    for (const { reason } of refused as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({
        message: `The charge ${of} of 0.000001001 credits has 0.000000011 left to refund`,
      })
    }
    expect((await balances())[0]).toBe(10_000n - 11n)
    expect((await admin.entries.refund(of)).refund).toEqual({ of, amount: 11n })
    expect(await balances()).toEqual([10_000n, 0n, 0n])
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('with the same reference are posted once, even concurrently, and refuse another charge or amount', async () => {
    const { admin, balances, idOf, settle } = await openBooks()
    await settle('other', 5n, [
      { account: 'alice', amount: -5n },
      { account: 'platform', amount: 5n },
    ])
    const of = await idOf('shared')
    const refund = () => admin.entries.refund(of, nanos(10n), { reference: 'ticket 7' })
    const made = await Promise.all(Array.from({ length: 6 }, refund))
    expect(new Set(made.map(({ id }) => id)).size).toBe(1)
    expect(made.filter(({ isRepeat }) => isRepeat)).toHaveLength(5)
    expect((await balances())[0]).toBe(10_000n - 1_001n - 5n + 10n)
    expect(await admin.entries.refund(of, undefined, { reference: 'ticket 7' })).toEqual({
      ...made[0],
      isRepeat: true,
    })
    const conflict = `The reference "ticket 7" names another posting: ${made[0]!.id}`
    await expect(admin.entries.refund(of, nanos(11n), { reference: 'ticket 7' })).rejects.toThrow(conflict)
    await expect(
      admin.entries.refund(await idOf('other'), undefined, { reference: 'ticket 7' }),
    ).rejects.toThrow(conflict)
    await expect(
      admin.accounts.correct({ account: 'alice', amount: nanos(10n), reference: 'ticket 7' }),
    ).rejects.toThrow(conflict)
    const granted = await admin.accounts.credit({ account: 'bob', amount: '1', reference: 'invoice 1' })
    await expect(admin.entries.refund(of, undefined, { reference: 'invoice 1' })).rejects.toThrow(
      `The reference "invoice 1" names another posting: ${granted.id}`,
    )
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('of a call whose payer earns the price itself return what it was debited', async () => {
    const { admin, idOf, settle } = await openBooks()
    await settle(
      'own',
      100n,
      [
        { account: 'alice', amount: -100n },
        { account: 'alice', amount: 70n },
        { account: 'app-owner', amount: 30n },
      ],
      { base: 70n, markup: 30n },
    )
    await settle('all', 40n, [
      { account: 'alice', amount: -40n },
      { account: 'alice', amount: 40n },
    ])
    const half = await admin.entries.refund(await idOf('own'), nanos(50n))
    expect(half.postings).toEqual([
      { account: 'app-owner', amount: -15n },
      { account: 'alice', amount: 15n },
    ])
    expect((await admin.entries.refund(await idOf('all'))).postings).toEqual([
      { account: 'alice', amount: 0n },
    ])
    await expect(admin.entries.refund(await idOf('all'))).rejects.toThrow('has been refunded already')
    expect(await admin.maintenance.verify()).toEqual([])
    const { credited, corrected, refunded, earned, spent, posted } = (await admin.accounts.statement(
      'alice',
    ))!
    expect(credited + corrected + refunded + earned - spent).toBe(posted)
  })

  it('refuse entries that are not charges, free calls and invalid amounts', async () => {
    const { admin, idOf, settle } = await openBooks()
    await settle('free', 0n, [])
    const { id } = await admin.accounts.credit({ account: 'bob', amount: '1' })
    for (const none of [id, '999999', '-1', 'x', '1 or 1', '', '9'.repeat(30)]) {
      await expect(admin.entries.refund(none)).rejects.toThrow(`There is no charge ${JSON.stringify(none)}`)
    }
    const free = await idOf('free')
    await expect(admin.entries.refund(free)).rejects.toThrow(`The charge ${free} cost nothing`)
    const of = await idOf('shared')
    for (const amount of ['-1', '1e3', 'all', '0.0000000001']) {
      await expect(admin.entries.refund(of, amount)).rejects.toThrow('refund.amount')
    }
    await expect(admin.entries.refund(of, '0')).rejects.toThrow('refund.amount: must be above 0')
    await expect(admin.entries.refund(of, '1', { refrence: 'x' } as object)).rejects.toThrow(
      'refund: has no field "refrence"',
    )
    await expect(admin.entries.refund(of, '1')).rejects.toThrow('has 0.000001001 left to refund')
    const refund = await admin.entries.refund(of)
    await expect(admin.entries.refund(refund.id)).rejects.toThrow('There is no charge')
  })

  it('reduce the budgets that counted the charge, in its period only', async () => {
    const { admin, database, facts, idOf, ledger } = await openBooks()
    const { credentialId } = await admin.keys.issue({ account: 'alice' })
    const of = 'credential' as const
    const ids = ['month', 'rate', 'tokens'] as const
    const units = ['credits', 'requests', 'tokens'] as const
    for (const [index, id] of ids.entries()) {
      const limit = { id, of, ownerId: credentialId, unit: units[index]!, amount: '1000' }
      await admin.limits.put({ ...limit, per: 'total' })
    }
    const buckets = (await admin.limits.list()).map((limit) => ({
      bucket: bucketOf(limit),
      unit: limit.unit,
    }))
    const pay = async (holdId: string) => {
      const windows = [[0, 8_640_000_000_000_000]] as const
      const amounts = [1_001n, 1n, 18n]
      const limits = buckets.map((one, index) => ({
        ...one,
        limit: 10_000n,
        amount: amounts[index]!,
        windows,
      }))
      const held = await ledger.hold(createHold('alice', 1_001n, { holdId, facts, limits }), context)
      expect(held).toMatchObject({ ok: true })
      const uses = buckets.map((one, index) => ({ ...one, from: 0, used: amounts[index]! }))
      await ledger.settle(createSettle(holdId, 'alice', 1_001n, { facts, limits: uses }), context)
      return idOf(holdId)
    }
    const used = async () =>
      Object.fromEntries(
        (await admin.limits.list({ ownerId: credentialId })).map((row) => [row.id, row.used]),
      )
    const [first, second] = [await pay('limited-1'), await pay('limited-2')]
    expect(await used()).toEqual({ month: 2_002n, rate: 2n, tokens: 36n })
    const part = await admin.entries.refund(first, nanos(400n))
    expect(part.limits).toEqual([{ ...buckets[0], from: 0, used: -400n }])
    expect(await used()).toEqual({ month: 1_602n, rate: 2n, tokens: 36n })
    await Promise.allSettled([admin.entries.refund(first), admin.entries.refund(first)])
    expect(await used()).toEqual({ month: 1_001n, rate: 2n, tokens: 36n })
    expect(await admin.maintenance.verify()).toEqual([])
    // As if a later period had begun in the meantime, in which nothing was used yet.
    await database.batch([{ text: 'update {limit_buckets} set starts_at = 5, used = 0, held = 0' }])
    await admin.entries.refund(second)
    const rows = await database.all({ text: 'select used from {limit_buckets}' })
    expect(rows.map((row) => BigInt(row.used!))).toEqual([0n, 0n, 0n])
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('are compared with their postings by verify', async () => {
    const { admin, database, idOf } = await openBooks()
    const { id } = await admin.entries.refund(await idOf('shared'))
    const change = (text: string) => database.all({ text, parameters: [BigInt(id)] })
    await change("update {postings} set amount = amount - 1 where entry_id = ?1 and account = 'platform'")
    expect(await admin.maintenance.verify()).toMatchObject([
      { what: 'balance', id: 'platform' },
      { what: 'entry', id, found: -1n, expected: 0n, message: expect.stringContaining(`the entry ${id}`) },
    ])
    await change("update {postings} set amount = amount + 1 where entry_id = ?1 and account = 'platform'")
    await change("delete from {postings} where entry_id = ?1 and account = 'alice'")
    const found = await admin.maintenance.verify()
    expect(found).toMatchObject([
      { what: 'balance', id: 'alice' },
      { what: 'entry', id },
      { what: 'missing-posting', id, expected: 1_001n },
    ])
  })
})
