import { z } from 'zod'
import { outOfRange } from '../base/invalid-input.js'
import { present } from '../base/present.js'
import { nameSchema, parseInput, whose } from '../rules/schemas.js'
import { readNumber, readOptionalNumber, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Parameter, SqlDatabase } from '../sql/database.js'
import { orderedTotalOf, wholeSum } from '../sql/sums.js'
import { AMOUNTS, addUp, CHARGE_SUMS, COUNTS, DAY_MS, QUARTER_MS, sumCharges } from '../sql/total-columns.js'
import { type EntrySource, unkeyedEntries, unkeyedOfAccount, unsummedEntries } from '../sql/unsummed.js'
import { checkOrder, MOST_GROUPS, timesSchema } from './over-time.js'
import { readBooks, type SpendBooks, type SpendRow, toSums } from './spend.js'
import { OF_CHARGE, OF_TOTALS, type SpendQuery, SUMS } from './spend-rows.js'

export interface SpendOverTimeQuery extends Pick<SpendQuery, 'account' | 'appId' | 'model'> {
  /**
   * From 2 to 101 times in milliseconds since the Unix epoch, in order. Each one but the last begins a step, and each one
   * but the first ends the step before. By key or account, or of one account, they must be midnights in UTC, or span at
   * most two days.
   */
  readonly times: readonly number[]
  /** Splits each step into the {@link SpendOverTime.groups}. */
  readonly by?: Exclude<SpendQuery['by'], 'day'>
  /** What the groups are ranked by. `'cost'` by default. */
  readonly rank?: 'cost' | 'calls' | 'tokens'
}

/** Charges over time. Everything in it is of one snapshot. */
export interface SpendOverTime {
  /** The steps with charges, in order. `step` is the index of the time that begins one. */
  readonly steps: readonly (Omit<SpendRow, 'key'> & { readonly step: number })[]
  /** The keys of the largest groups, at most seven, the largest first. Undefined for calls without one. Empty without `by`. */
  readonly groups: readonly (string | undefined)[]
  /** The charges of each step and group. `group` is an index in `groups`; it is absent for all groups that are not there. */
  readonly parts: readonly (Omit<SpendRow, 'key'> & { readonly step: number; readonly group?: number })[]
  readonly total: Omit<SpendRow, 'key'>
  readonly books: SpendBooks
  /** How far the replica was behind that answered, in milliseconds. Absent if the ledger's own database did. */
  readonly behindMs?: number
}

/** The time whose charges may be read one by one. */
const MOST_UNSUMMED_MS = 2 * DAY_MS

const schema = z.strictObject({
  times: timesSchema,
  by: z.enum(['model', 'app', 'key', 'account', 'provider']).optional(),
  rank: z.enum(['cost', 'calls', 'tokens']).optional(),
  account: whose(nameSchema),
  appId: whose(nameSchema),
  model: nameSchema.optional(),
})
type Query = z.infer<typeof schema>

const ORDERED_AMOUNTS = AMOUNTS.map(orderedTotalOf).join(', ')
const ORDERS: Readonly<Record<NonNullable<Query['rank']>, string>> = {
  cost: 'cost_high desc, cost_low desc',
  calls: 'calls desc',
  tokens: 'prompt + completion desc',
}

/** Sums charges by steps of time. */
export async function readSpendOverTime(
  database: SqlDatabase,
  query: SpendOverTimeQuery,
): Promise<SpendOverTime> {
  const filters = parseInput(schema, query, 'spendOverTime')
  const { by, rank = 'cost' } = filters
  const parameters: Parameter[] = []
  const text = `with ${chargesOf(database, filters, parameters)},
      sums as (select step, coalesce(key, '') as key, ${addUp(COUNTS)}, ${ORDERED_AMOUNTS} from charges
        group by 1, 2 having sum(calls) > 0)
      select -1 as step, 0 as place, '' as key, ${addUp(CHARGE_SUMS)}, ${database.behind ?? 'null'} as behind from sums
      union all select step, 0, '', ${addUp(CHARGE_SUMS)}, null from sums group by 1
      ${by === undefined ? '' : groupsBy(ORDERS[rank])}
      order by 1, 2`
  const [total, ...rows] = await database.all({ isReport: true, mayLag: true, text, parameters })
  const groups: (string | undefined)[] = []
  const steps: SpendOverTime['steps'][number][] = []
  const parts: SpendOverTime['parts'][number][] = []
  for (const row of rows) {
    const place = readNumber(row, 'place')
    const sums = { step: readNumber(row, 'step'), ...toSums(row) }
    if (place === 0) steps.push(sums)
    else if (place > MOST_GROUPS) parts.push(sums)
    else {
      groups[place - 1] = readText(row, 'key') || undefined
      parts.push({ ...sums, group: place - 1 })
    }
  }
  return {
    steps,
    groups,
    parts,
    total: toSums(total!),
    books: readBooks(total!),
    ...present({ behindMs: readOptionalNumber(total!, 'behind') }),
  }
}

/** SQL for the largest groups by step, and for all others together. */
function groupsBy(order: string): string {
  const ranked = `(select key, row_number() over (order by ${order}, key) as place
        from (select key, ${addUp(COUNTS)}, ${ORDERED_AMOUNTS} from sums group by key) g)`
  const [own, added] = [
    CHARGE_SUMS.map((name) => `s.${name}`),
    CHARGE_SUMS.map((name) => `${wholeSum(`s.${name}`)} as ${name}`),
  ]
  return `union all select s.step, r.place, s.key, ${own.join(', ')}, null
        from sums s join ${ranked} r on r.key = s.key where r.place <= ${MOST_GROUPS}
      union all select s.step, ${MOST_GROUPS + 1}, '', ${added.join(', ')}, null
        from sums s join ${ranked} r on r.key = s.key where r.place > ${MOST_GROUPS} group by 1`
}

/** A part of a step. Totals of this span cover it, or none do if that is 0. */
interface Piece {
  readonly step: number
  readonly span: number
  readonly from: number
  readonly to: number
}

/** SQL for the pieces of the steps, and for `charges`: sums by step and key, of totals and of charges that they lack. */
function chargesOf({ engine }: SqlDatabase, query: Query, parameters: Parameter[]): string {
  const { account, appId, by, model, times } = query
  const isByAccount = account !== undefined || by === 'key' || by === 'account'
  const pieces = piecesOf(times, isByAccount ? [DAY_MS] : [DAY_MS, QUARTER_MS])
  const cell = (value: number) => `cast(?${parameters.push(BigInt(value))} as bigint)`
  const values = pieces.map(({ step, span, from, to }) => `(${[step, span, from, to].map(cell).join(', ')})`)
  const isWithin = (at: string) => `${at} >= p.from_at and ${at} < p.to_at`
  const keyIn = (keys: typeof OF_TOTALS) => (by === undefined ? 'cast(null as text)' : keys[by])

  // A cross join of SQLite keeps its order, so each piece is one search of an index.
  function totals(): string {
    const { addEqual, conditions } = createConditions(parameters)
    conditions.push(isByAccount ? `p.span = ${DAY_MS}` : 't.span = p.span', isWithin('t.starts_at'))
    addEqual({ 't.account': account, 't.app_id': appId, 't.model': model })
    const table = isByAccount ? '{account_totals}' : '{charge_totals}'
    return `select p.step, ${keyIn(OF_TOTALS)} as key, ${SUMS} from pieces p cross join ${table} t
        where ${conditions.join(' and ')}`
  }

  function charges({ from, where }: EntrySource): string {
    const { addEqual, conditions } = createConditions(parameters)
    conditions.push(where, "e.kind = 'charge'")
    addEqual({ 'e.account': account, 'e.app_id': appId, 'e.model': model })
    return `select p.step, ${keyIn(OF_CHARGE)} as key, ${sumCharges(engine)} from ${from}
        where ${conditions.join(' and ')} group by 1, 2`
  }

  /** Charges of times that have totals, if the totals do not contain them yet. */
  function waiting(): EntrySource {
    const where = `p.span > 0 and ${isWithin('e.at')}`
    if (account === undefined) {
      const entries = isByAccount ? unkeyedEntries(engine) : unsummedEntries(engine)
      return { from: `${entries} cross join pieces p`, where }
    }
    const own = unkeyedOfAccount(engine, `?${parameters.push(account)}`)
    return { from: `(select e.* from ${own.from} where ${own.where}) e cross join pieces p`, where }
  }

  /** Charges of times that have no totals. For one account, its postings serve as the index to its entries. */
  function others(): EntrySource {
    if (account === undefined)
      return { from: 'pieces p cross join {entries} e', where: `p.span = 0 and ${isWithin('e.at')}` }
    return {
      from: 'pieces p cross join {postings} w join {entries} e on e.id = w.entry_id',
      where: `p.span = 0 and w.account = ?${parameters.push(account)} and ${isWithin('w.at')}`,
    }
  }

  const sources = [
    ...(pieces.some(({ span }) => span > 0) ? [totals(), charges(waiting())] : []),
    ...(pieces.some(({ span }) => span === 0) ? [charges(others())] : []),
  ]
  return `pieces (step, span, from_at, to_at) as (values ${values.join(', ')}),
      charges as (${sources.join(' union all ')})`
}

function piecesOf(times: readonly number[], spans: readonly number[]): readonly Piece[] {
  checkOrder(times, 'spendOverTime')
  const pieces = times.slice(1).flatMap((to, step) => split({ step, span: 0, from: times[step]!, to }, spans))
  const unsummedMs = pieces.reduce((sum, { span, from, to }) => sum + (span === 0 ? to - from : 0), 0)
  if (unsummedMs > MOST_UNSUMMED_MS) {
    const field = { of: 'spendOverTime', field: 'times' }
    throw outOfRange(field, 'must be midnights in UTC by key or account, or span at most two days')
  }
  return pieces
}

/** Covers a piece with the longest of these spans, and the rest around it with the shorter ones. */
function split(piece: Piece, [span, ...shorter]: readonly number[]): readonly Piece[] {
  if (piece.from >= piece.to) return []
  if (span === undefined) return [piece]
  const from = Math.ceil(piece.from / span) * span
  const to = Math.floor(piece.to / span) * span
  if (from >= to) return split(piece, shorter)
  return [
    ...split({ ...piece, to: from }, shorter),
    { ...piece, span, from, to },
    ...split({ ...piece, from: to }, shorter),
  ]
}
