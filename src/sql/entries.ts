import type { EntryPage, EntryQuery } from '../contracts/index.js'
import type { Parameter, SqlDatabase } from './database.js'
import { readEntry } from './entry-rows.js'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000
const CURSOR_PATTERN = /^(\d{1,16})\.(\d{1,19})$/

/** What administration may ask besides. */
export interface PayerQuery extends EntryQuery {
  /** Charges that this account paid. */
  readonly payer?: string
  /** Charges of calls with this credential. */
  readonly credentialId?: string
}

/** A page of entries, newest first. Throws a `RangeError` or `TypeError` for a bad `limit` or `after`. */
export async function readEntries(database: SqlDatabase, query: PayerQuery): Promise<EntryPage> {
  const limit = query.limit ?? DEFAULT_LIMIT
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new RangeError(`limit must be an integer from 1 to ${MAX_LIMIT}; got ${String(limit)}`)
  }
  const { conditions, parameters, add } = createConditions()
  // With an account, its postings are the index: they stand in the same order as the entries.
  const [at, id] = query.account === undefined ? ['e.at', 'e.id'] : ['p.at', 'p.entry_id']
  if (query.account !== undefined) add((value) => `p.account = ${value}`, query.account)
  if (query.payer !== undefined) {
    add((value) => `e.account = ${value}`, query.payer)
    conditions.push("e.kind = 'charge'")
  }
  if (query.appId !== undefined) add((value) => `e.app_id = ${value}`, query.appId)
  if (query.credentialId !== undefined) {
    add((value) => `e.credential_id = ${value}`, query.credentialId)
  }
  if (query.model !== undefined) add((value) => `e.model = ${value}`, query.model)
  if (query.sessionId !== undefined) add((value) => `e.session_id = ${value}`, query.sessionId)
  if (query.from !== undefined) add((value) => `${at} >= ${value}`, toTime(query.from, 'from'))
  if (query.to !== undefined) add((value) => `${at} < ${value}`, toTime(query.to, 'to'))
  if (query.after !== undefined) {
    const [, lastAt, lastId] = CURSOR_PATTERN.exec(query.after) ?? []
    if (lastAt === undefined || lastId === undefined) {
      throw new TypeError('after must be the `next` of an earlier page')
    }
    parameters.push(BigInt(lastAt), BigInt(lastId))
    conditions.push(`(${at}, ${id}) < (?${parameters.length - 1}, ?${parameters.length})`)
  }
  parameters.push(BigInt(limit + 1))
  const rows = await database.all({
    text: `select e.* from ${query.account === undefined ? '{entries} e' : '{postings} p join {entries} e on e.id = p.entry_id'}
      ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
      order by ${at} desc, ${id} desc limit ?${parameters.length}`,
    parameters,
  })
  const entries = rows.slice(0, limit).map(readEntry)
  const last = entries.at(-1)
  return rows.length > limit && last !== undefined ? { entries, next: `${last.at}.${last.id}` } : { entries }
}

/** Conditions joined by `and`, each with its own numbered parameter. */
export function createConditions(): {
  readonly conditions: string[]
  readonly parameters: Parameter[]
  readonly add: (condition: (value: string) => string, parameter: Parameter) => void
} {
  const conditions: string[] = []
  const parameters: Parameter[] = []
  return {
    conditions,
    parameters,
    add(condition, parameter) {
      parameters.push(parameter)
      conditions.push(condition(`?${parameters.length}`))
    },
  }
}

/** Milliseconds as an integer cell. */
export function toTime(value: number, what: string): bigint {
  const time = Math.ceil(value)
  if (!Number.isSafeInteger(time)) throw new TypeError(`${what} must be milliseconds since the Unix epoch`)
  return BigInt(time)
}
