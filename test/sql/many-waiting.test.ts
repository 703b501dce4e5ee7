import { describe, expect, it } from 'vitest'
import type { Statement } from '../../src/sql/database.js'
import { createSqlLookUps } from '../../src/sql/look-ups.js'
import { engineNames, foldAll, useEngine } from '../helpers/engines.js'
import { context, createSettle } from '../helpers/ledger-requests.js'

/** More than a look-up reads by itself. */
const CALLS = 5_010

describe.each(engineNames)('look-ups of what an account spent on %s', (name) => {
  const engine = useEngine(name)

  it('take turns with reports while very many of its calls wait for the totals, and only then', async () => {
    const stores = engine.open('many-waiting')
    const { database, ledger } = stores
    for (const account of ['whale', 'alice'])
      await ledger.settle(createSettle(`h-${account}`, account, 10n), context)
    await foldAll(stores)
    const numbers =
      name === 'PostgreSQL'
        ? `generate_series(1, ${CALLS - 1}) n(i)`
        : `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${CALLS - 1}) select i from n) n`
    await database.all({
      text: `insert into {entries} (at, kind, account, credential_id, model, cost, base, markup, posted, postings)
        select at, kind, account, credential_id, model, cost, base, markup, posted, postings
        from {entries} cross join ${numbers} where account = 'whale'`,
    })
    await database.all({
      text: `insert into {postings} (account, at, entry_id, amount)
        select account, at, id, posted from {entries} where account = 'whale' and hold_id is null`,
    })
    if (name === 'PostgreSQL') {
      await database.all({
        text: `insert into {unsummed} (ids, at) select array_agg(id), min(at) from {entries} where hold_id is null`,
      })
    }

    const asked: boolean[] = []
    const { spent } = createSqlLookUps({
      ...database,
      all(statement: Statement) {
        asked.push(statement.isReport === true)
        return database.all(statement)
      },
    })
    expect(await spent({ account: 'whale' }, context)).toMatchObject({ total: 10n * BigInt(CALLS) })
    expect(asked.splice(0)).toEqual([false, true])
    expect(await spent({ account: 'alice' }, context)).toMatchObject({ total: 10n })
    expect(asked.splice(0)).toEqual([false])
    await foldAll(stores)
    expect(await spent({ account: 'whale' }, context)).toMatchObject({ total: 10n * BigInt(CALLS) })
    expect(asked).toEqual([false])
  })
})
