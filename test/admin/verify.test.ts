import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { formatCredits, MAX_CREDITS } from '../../src/base/money.js'
import type { Parameter } from '../../src/sql/database.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createCharge, createHold, createSettle } from '../helpers/ledger-requests.js'

/** A charge of 10. The platform earns the base, and `earner` the markup. */
function shares(payer: string, base: bigint, markup: bigint, earner = 'app') {
  return createSettle('app', payer, 10n, {
    charge: createCharge(10n, { base, markup }),
    postings: [
      { account: payer, amount: -10n },
      { account: 'platform', amount: base },
      { account: earner, amount: markup },
    ],
  })
}

describe.each(engineNames)('verify on %s', (name) => {
  const engine = useEngine(name)
  let opened = 0

  /** Opens sound books, with functions to change them. */
  async function openBooks() {
    const stores = engine.open(`books_${opened++}`)
    const admin = createAdmin(stores)
    await admin.accounts.credit({ account: 'alice', amount: '0.00001' })
    const carols = await admin.accounts.credit({ account: 'carol', amount: '7', reference: 'carol' })
    const corrected = await admin.accounts.correct({ account: 'carol', amount: '-2' })
    await stores.ledger.hold(createHold('alice', 30n), context)
    // Free calls leave a hold and an entry, but possibly no posting.
    await stores.ledger.hold(createHold('nobody', 0n), context)
    const freed = createHold('carol', 20n)
    await stores.ledger.hold(freed, context)
    await stores.ledger.release(freed, context)
    // A balance above 0 but below one credit.
    await admin.accounts.credit({ account: 'dan', amount: '1' })
    await admin.accounts.correct({ account: 'dan', amount: '-0.999999995' })
    await stores.ledger.settle(createSettle('free', 'erin', 0n, { postings: [] }), context)
    await stores.ledger.settle(createSettle('own', 'platform', 40n), context)
    await stores.ledger.settle(createSettle('h1', 'alice', 1_000n), context)
    await stores.ledger.settle(createSettle('h2', 'alice', 500n), context)
    expect(await admin.maintenance.verify()).toEqual([])
    return {
      ...stores,
      carols: carols.id,
      corrected: corrected.id,
      verify: admin.maintenance.verify,
      spendReport: admin.reports.spendReport,
      change: (text: string, ...parameters: Parameter[]) => stores.database.all({ text, parameters }),
      async idOf(holdId: string) {
        const page = await admin.entries.list()
        return page.entries.find((entry) => entry.holdId === holdId)!.id
      },
    }
  }

  it('finds a missing account by its postings and open holds', async () => {
    const { change, verify } = await openBooks()
    await change("delete from {accounts} where id in ('alice', 'carol')")
    expect(await verify()).toEqual([
      { what: 'held', id: 'alice', found: 0n, expected: 30n, message: expect.stringContaining('"alice"') },
      {
        what: 'missing-account',
        id: 'alice',
        found: 0n,
        expected: 8_500n,
        message: expect.stringContaining('0.0000085'),
      },
      {
        what: 'missing-account',
        id: 'carol',
        found: 0n,
        expected: 5_000_000_000n,
        message:
          'The account "carol" has no row in accounts, but its postings add up to 5: restore the row from a backup, or insert one with 0 as posted and verify again.',
      },
    ])
  })

  it('finds a missing account whose postings add up to 0', async () => {
    const { change, verify, ...books } = await openBooks()
    await createAdmin(books).accounts.correct({ account: 'carol', amount: '-5' })
    await change("delete from {accounts} where id = 'carol'")
    expect(await verify()).toMatchObject([{ what: 'missing-account', id: 'carol', expected: 0n }])
  })

  it('finds a balance without postings, and held credit without open holds', async () => {
    const { change, verify } = await openBooks()
    await change("insert into {accounts} (id, posted, held, created_at) values ('frank', 7, 0, 0)")
    await change("update {accounts} set held = 9 where id = 'carol'")
    expect(await verify()).toMatchObject([
      { what: 'balance', id: 'frank', found: 7n, expected: 0n },
      { what: 'held', id: 'carol', found: 9n, expected: 0n },
    ])
  })

  it('finds a charge whose cost differs from its payer’s debit', async () => {
    const { change, idOf, verify } = await openBooks()
    const id = await idOf('h1')
    await change("update {entries} set cost = 999999, base = 999999 where hold_id = 'h1'")
    expect(await verify()).toEqual([
      {
        what: 'cost',
        id,
        found: 999_999n,
        expected: 1_000n,
        message: `The charge ${id} shows a cost of 0.000999999, but its payer's posting amounts to 0.000001: restore its entries row or its postings from a backup.`,
      },
    ])
  })

  it('finds a charge whose postings are missing, even if the balances match', async () => {
    const { change, idOf, verify } = await openBooks()
    const id = await idOf('h2')
    await change('delete from {postings} where entry_id = ?1', id)
    await change("update {accounts} set posted = posted + 500 where id = 'alice'")
    await change("update {accounts} set posted = posted - 500 where id = 'platform'")
    expect(await verify()).toMatchObject([{ what: 'cost', id, found: 500n, expected: 0n }])
  })

  it('finds a charge whose base and markup do not add up to its cost', async () => {
    const { change, idOf, spendReport, verify } = await openBooks()
    const id = await idOf('h1')
    expect((await spendReport({ by: 'day', account: 'alice' })).books.isEqual).toBe(true)
    await change("update {entries} set base = base + 7 where hold_id = 'h1'")
    expect(await verify()).toMatchObject([{ what: 'parts', id, found: 1_007n, expected: 1_000n }])
    expect((await spendReport({ by: 'day', account: 'alice' })).books.isEqual).toBe(false)
  })

  it('finds an entry that says another amount for its own account than it posted', async () => {
    const { carols, change, idOf, spendReport, verify } = await openBooks()
    const id = await idOf('h1')
    await change("update {entries} set posted = posted + 7 where hold_id = 'h1'")
    await change('update {entries} set posted = 0 where id = ?1', carols)
    const wrong = [
      {
        what: 'posted',
        id,
        found: -993n,
        expected: -1_000n,
        message: `The entry ${id} says that it posted -0.000000993 to its own account, but its posting is -0.000001: set posted in its entries row to that.`,
      },
      expect.objectContaining({ what: 'posted', id: carols, found: 0n, expected: 7_000_000_000n }),
    ]
    expect(await verify()).toEqual(id < carols ? wrong : wrong.reverse())
    expect((await spendReport({ by: 'day', account: 'alice' })).books.isEqual).toBe(false)
  })

  it('finds a charge if part of its base was moved to its markup', async () => {
    const { change, idOf, ledger, verify } = await openBooks()
    await ledger.settle(shares('alice', 7n, 3n), context)
    expect(await verify()).toEqual([])
    const id = await idOf('app')
    await change("update {entries} set base = base + 1, markup = markup - 1 where hold_id = 'app'")
    expect(await verify()).toEqual([
      {
        what: 'share',
        id,
        found: 7n,
        expected: 8n,
        message: `The charge ${id} posted 0.000000007 to an account that earned 0.000000008: restore its entries row or its postings from a backup.`,
      },
    ])
  })

  it.each([
    ['a payer that earns nothing', shares('alice', 7n, 3n)],
    ['one account that earns both', shares('alice', 7n, 3n, 'platform')],
    ['a payer that earns the markup', shares('app', 7n, 3n)],
    ['a payer that earns the base', shares('platform', 7n, 3n)],
    ['a payer that earns both', shares('platform', 7n, 3n, 'platform')],
    ['a markup above the base', shares('alice', 3n, 7n)],
    ['a base of 0', shares('alice', 0n, 10n)],
    ['no markup', shares('alice', 10n, 0n)],
  ])('accepts %s, and finds an amount moved between its postings', async (_, charge) => {
    const { change, idOf, ledger, verify } = await openBooks()
    await ledger.settle(charge, context)
    expect(await verify()).toEqual([])
    const id = await idOf('app')
    for (const [account, more] of [
      ['platform', 1n],
      ['app', -1n],
    ] as const) {
      await change(
        `insert into {postings} (account, at, entry_id, amount)
         select ?1, at, id, 0 from {entries} where id = ?2 on conflict do nothing`,
        account,
        id,
      )
      await change(
        'update {postings} set amount = amount + ?1 where entry_id = ?2 and account = ?3',
        more,
        id,
        account,
      )
    }
    const kinds = (await verify()).filter((found) => found.id === id).map(({ what }) => what)
    expect(kinds).toHaveLength(1)
    expect(['cost', 'share']).toContain(kinds[0])
  })

  it('finds a credit and a correction whose postings are missing, even if the balance matches', async () => {
    const { carols, corrected, change, verify } = await openBooks()
    await change("delete from {postings} where account = 'carol'")
    await change("update {accounts} set posted = 0 where id = 'carol'")
    const lost = [
      { what: 'missing-posting', id: carols, found: 0n, expected: 7_000_000_000n },
      { what: 'missing-posting', id: corrected, found: 0n, expected: -2_000_000_000n },
    ]
    expect(await verify()).toMatchObject(lost.sort((a, b) => (a.id < b.id ? -1 : 1)))
  })

  it('finds a credit and a correction whose postings have a different amount, even if the balance matches', async () => {
    const { carols, corrected, change, verify } = await openBooks()
    await change(
      "update {postings} set amount = amount + 10 where account = 'carol' and entry_id = ?1",
      carols,
    )
    await change('update {postings} set amount = 0 where entry_id = ?1', corrected)
    await change("update {accounts} set posted = posted + 2000000010 where id = 'carol'")
    const changed = [
      {
        what: 'missing-posting',
        id: carols,
        found: 7_000_000_010n,
        expected: 7_000_000_000n,
        message: `The entry ${carols} shows 7 for its account, but its posting is 7.00000001: restore it from a backup.`,
      },
      {
        what: 'missing-posting',
        id: corrected,
        found: 0n,
        expected: -2_000_000_000n,
        message: `The entry ${corrected} shows -2 for its account, but its posting is missing or 0: restore it from a backup.`,
      },
    ]
    expect(await verify()).toEqual(changed.sort((a, b) => (a.id < b.id ? -1 : 1)))
  })

  it('finds postings whose charge, credit or correction is missing', async () => {
    const { carols, corrected, change, idOf, verify } = await openBooks()
    const id = await idOf('h1')
    await change("delete from {entries} where hold_id = 'h1' or account = 'carol'")
    const found = [
      { what: 'missing-entry', id, found: 1_000n, expected: 0n },
      { what: 'missing-entry', id: carols, found: 7_000_000_000n, expected: 0n },
      { what: 'missing-entry', id: corrected, found: -2_000_000_000n, expected: 0n },
    ]
    expect(await verify()).toMatchObject(found.sort((a, b) => (a.id < b.id ? -1 : 1)))
  })

  it('reports sums beyond the range of a balance', async () => {
    const { change, idOf, verify } = await openBooks()
    const id = await idOf('h1')
    for (const account of ['alice', 'platform']) {
      await change(
        'update {postings} set amount = ?1 where entry_id = ?2 and account = ?3',
        MAX_CREDITS,
        id,
        account,
      )
    }
    await change(
      "insert into {holds} (id, account, amount, state, expires_at) values ('x', 'alice', ?1, 0, 0)",
      MAX_CREDITS,
    )
    const sum = 2n * MAX_CREDITS
    expect(await verify()).toMatchObject([
      { what: 'balance', id: 'alice', found: 8_500n, expected: MAX_CREDITS + 9_500n },
      { what: 'balance', id: 'platform', found: 1_500n, expected: MAX_CREDITS + 500n },
      { what: 'cost', id, found: 1_000n, expected: -MAX_CREDITS },
      { what: 'entry', id, found: sum, expected: 0n, message: expect.stringContaining(formatCredits(sum)) },
      { what: 'held', id: 'alice', found: 30n, expected: MAX_CREDITS + 30n },
    ])
  })
})
