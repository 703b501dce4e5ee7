import { checkTime } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Parameter, SqlDatabase } from '../sql/database.js'
import { CHARGE_SUMS, DAY_MS, QUARTER_MS, sumCharges } from '../sql/total-columns.js'
import { type EntrySource, unkeyedEntries, unkeyedOfAccount, unsummedEntries } from '../sql/unsummed.js'

export interface SpendQuery {
  /** The grouping. Days are in UTC. `app` groups by the app whose token was used. */
  readonly by: 'day' | 'model' | 'app' | 'key' | 'account' | 'provider'
  /** The account that paid. */
  readonly account?: string
  readonly appId?: string
  readonly model?: string
  /** Only calls with these credentials. */
  readonly credentialIds?: readonly string[]
  /** Milliseconds since the Unix epoch, inclusive. */
  readonly from?: number
  /** Milliseconds since the Unix epoch, exclusive. */
  readonly to?: number
}

/** SQL for the group of a charge. */
export const OF_CHARGE: Readonly<Record<SpendQuery['by'], string>> = {
  day: 'e.at / 86400000',
  model: 'e.model',
  app: 'e.app_id',
  key: 'e.credential_id',
  account: 'e.account',
  provider: 'e.provider',
}

/** SQL for the group of a row of totals. Those of charges have neither keys nor accounts. */
export const OF_TOTALS: Readonly<Record<SpendQuery['by'], string>> = {
  day: 't.starts_at / 86400000',
  model: 't.model',
  app: "nullif(t.app_id, '')",
  key: 't.credential_id',
  account: 't.account',
  provider: "nullif(t.provider, '')",
}

export const SUMS = CHARGE_SUMS.map((name) => `t.${name}`).join(', ')

/**
 * SQL for rows of sums: those of totals as far as they cover the query, and charges for the rest of it. With `newest`, of
 * only so many of the newest charges of the period.
 */
export function spendRows(
  { engine }: SqlDatabase,
  query: SpendQuery & { readonly newest?: number },
  parameters: Parameter[],
): string {
  const { account, appId, by, credentialIds, model, newest, from, to } = query
  const period = { from, to }

  function charges({ from: source, where }: Partial<EntrySource>, times: Times): string {
    const { conditions, addEqual, addOneOf, addTimes } = createConditions(parameters)
    if (where !== undefined) conditions.push(where)
    addEqual({ 'e.account': account, 'e.app_id': appId, 'e.model': model })
    if (credentialIds !== undefined) addOneOf('e.credential_id', credentialIds)
    addTimes('e.at', times)
    return `select ${OF_CHARGE[by]} as key, min(e.at) as since, ${sumCharges(engine)} from ${source}
        where ${[...conditions, "e.kind = 'charge'"].join(' and ')} group by 1`
  }

  /** Charges by their times. For one account, its postings serve as the index to its entries. */
  function ofTimes(times: Times): string {
    if (account === undefined) return charges({ from: '{entries} e' }, times)
    const { conditions, add, addTimes } = createConditions(parameters)
    add((value) => `p.account = ${value}`, account)
    addTimes('p.at', times)
    const where = conditions.join(' and ')
    return charges({ from: '{postings} p join {entries} e on e.id = p.entry_id', where }, {})
  }

  function newestCharges(most: number): string {
    const { conditions, addTimes } = createConditions(parameters)
    addTimes('f.at', period)
    const where = [...conditions, "f.kind = 'charge'"].join(' and ')
    return `(select f.* from {entries} f where ${where} order by f.at desc, f.id desc limit ?${parameters.push(BigInt(most))}) e`
  }

  function totals(table: string, times: Times, span?: number): string {
    const { addEqual, addOneOf, addTimes, where } = createConditions(parameters)
    addEqual({ 't.account': account, 't.app_id': appId, 't.model': model })
    if (span !== undefined) addEqual({ 't.span': BigInt(span) })
    if (credentialIds !== undefined) addOneOf('t.credential_id', credentialIds)
    addTimes('t.starts_at', times)
    return `select ${OF_TOTALS[by]} as key, t.starts_at as since, ${SUMS} from {${table}} t ${where()}`
  }

  /** Rows of totals of the longer time as far as it fits, and of the shorter one around it. */
  function ofBoth(outer: Times, inner: Times, short: RowsOf, long: RowsOf): readonly string[] {
    return isEmpty(inner) ? [short(outer)] : [long(inner), ...around(outer, inner, short)]
  }

  // The totals cannot tell which charges are the newest.
  if (newest !== undefined) return charges({ from: newestCharges(newest) }, {})
  if (account === undefined && credentialIds === undefined && by !== 'key' && by !== 'account') {
    const quarters = wholeSpans(period, QUARTER_MS)
    if (isEmpty(quarters)) return ofTimes(period)
    return [
      ...ofBoth(
        quarters,
        wholeSpans(quarters, DAY_MS),
        (times) => totals('charge_totals', times, QUARTER_MS),
        (times) => totals('charge_totals', times, DAY_MS),
      ),
      charges({ from: unsummedEntries(engine) }, quarters),
      ...around(period, quarters, ofTimes),
    ].join(' union all ')
  }

  const days = wholeSpans(period, DAY_MS)
  if (isEmpty(days)) return ofTimes(period)
  const ofDays = (times: Times) => totals('account_totals', times)
  const hasMonths = (by === 'key' || by === 'account') && appId === undefined && model === undefined
  const waiting =
    account === undefined
      ? { from: unkeyedEntries(engine) }
      : unkeyedOfAccount(engine, `?${parameters.push(account)}`)
  return [
    ...(hasMonths
      ? ofBoth(days, wholeMonths(days), ofDays, (times) => totals('key_totals', times))
      : [ofDays(days)]),
    charges(waiting, days),
    ...around(period, days, ofTimes),
  ].join(' union all ')
}

/** SQL for the times of an outer period before and after its inner one. */
export function around(outer: Times, inner: Times, rows: RowsOf): readonly string[] {
  return [
    ...(inner.from === outer.from ? [] : [rows({ from: outer.from, to: inner.from })]),
    ...(inner.to === outer.to ? [] : [rows({ from: inner.to, to: outer.to })]),
  ]
}

/** Returns the time of all whole spans within a time. */
export function wholeSpans({ from, to }: Times, span: number): Times {
  return {
    from: from === undefined ? undefined : Math.ceil(checkTime(from, 'from') / span) * span,
    to: to === undefined ? undefined : Math.floor(checkTime(to, 'to') / span) * span,
  }
}

/** Returns the time of all whole months in UTC within whole days. */
function wholeMonths({ from, to }: Times): Times {
  const start = (time: number, months: number) => {
    const date = new Date(time)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1)
  }
  return {
    from: from === undefined || start(from, 0) === from ? from : start(from, 1),
    to: to === undefined ? undefined : start(to, 0),
  }
}

export function isEmpty({ from, to }: Times): boolean {
  return from !== undefined && to !== undefined && from >= to
}

export type Times = { readonly from?: number | undefined; readonly to?: number | undefined }
type RowsOf = (times: Times) => string
