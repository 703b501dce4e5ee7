import { describe, expect, it } from 'vitest'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context } from '../helpers/ledger-requests.js'

const DAY_MS = 86_400_000

describe.each(engineNames)('the buckets of budgets and rate limits on %s', (name) => {
  const engine = useEngine(name)

  it('are deleted 60 days after their period, except those of limits without a period', async () => {
    const { database, ledger } = engine.open('old_buckets')
    const ends: readonly (readonly [id: string, endsAt: number])[] = [
      ['old', Date.now() - 61 * DAY_MS],
      ['recent', Date.now() - 59 * DAY_MS],
      ['total', 8_640_000_000_000_000],
    ]
    await database.batch(
      ends.map(([id, endsAt]) => ({
        text: 'insert into {limit_buckets} (id, starts_at, ends_at, held, used) values (?1, 0, ?2, 0, 5)',
        parameters: [id, BigInt(endsAt)],
      })),
    )
    await ledger.expireHolds(10, context)
    const rows = await database.all({ text: 'select id from {limit_buckets} order by id' })
    expect(rows.map(({ id }) => id)).toEqual(['recent', 'total'])
  })
})
