import { invalidInput } from '../base/invalid-input.js'
import { readLimit } from '../base/page-limit.js'
import type { CallPage, CallQuery, KeptCall } from '../contracts/index.js'
import { readCall, readPosition } from './call-rows.js'
import { createConditions } from './conditions.js'
import type { SqlDatabase } from './database.js'

const CURSOR_PATTERN = /^(\d{1,16})\.(\d{1,18})$/
const FIRST_ERROR_STATUS = 400

/** A query with a filter that only administration may use. */
export interface KeptCallsQuery extends CallQuery {
  /** Only the calls with these ids. */
  readonly ids?: readonly string[]
}

/** Returns a page of kept calls, newest first. Throws a `RangeError` or `TypeError` if the query is invalid. */
export async function readCalls(database: SqlDatabase, query: KeptCallsQuery = {}): Promise<CallPage> {
  const limit = readLimit(query.limit)
  const { conditions, parameters, where } = callConditions(query)
  if (query.after !== undefined) {
    const [, lastAt, lastSeq] = CURSOR_PATTERN.exec(query.after) ?? []
    if (lastAt === undefined || lastSeq === undefined) {
      throw invalidInput({ field: 'after' }, 'must be the `next` of an earlier page')
    }
    parameters.push(BigInt(lastAt), BigInt(lastSeq))
    conditions.push(`(at, seq) < (?${parameters.length - 1}, ?${parameters.length})`)
  }
  parameters.push(BigInt(limit + 1))
  const rows = await database.all({
    ...(isSearch(query) && { isReport: true }),
    text: `select * from {calls} ${where()} order by at desc, seq desc limit ?${parameters.length}`,
    parameters,
  })
  const calls = rows.slice(0, limit).map(readCall)
  const last = rows[limit - 1]
  return rows.length > limit && last !== undefined ? { calls, next: readPosition(last) } : { calls }
}

/** The conditions of all filters but the page. */
export function callConditions(query: KeptCallsQuery): ReturnType<typeof createConditions> {
  const built = createConditions()
  const { conditions, addEqual, addOneOf, addTimes } = built
  const { account, appId, credentialId, model, outcome, requestId, status } = query
  if (query.ids !== undefined) addOneOf('id', query.ids)
  if (status !== undefined && !Number.isInteger(status))
    throw invalidInput({ field: 'status' }, 'must be an integer')
  addEqual({
    account,
    credential_id: credentialId,
    app_id: appId,
    model,
    request_id: requestId,
    outcome,
    status: status === undefined ? undefined : BigInt(status),
  })
  if (query.problems === true || isFailure(query)) conditions.push('is_problem = 1')
  addTimes('at', query)
  return built
}

/**
 * Returns the call with this id. If there is none, returns the newest one with this request id. With an account, finds
 * only that account's calls.
 */
export async function findCall(
  database: SqlDatabase,
  account: string | undefined,
  id: string,
): Promise<KeptCall | undefined> {
  const [row] = await database.all({
    text: `select * from {calls} where id = ?1 ${account === undefined ? '' : 'and account = ?2'}`,
    parameters: account === undefined ? [id] : [id, account],
  })
  if (row !== undefined) return readCall(row)
  const query = { requestId: id, limit: 1 }
  const { calls } = await readCalls(database, account === undefined ? query : { ...query, account })
  return calls[0]
}

/** These calls are always problems, and only problems have an index by status and by outcome. */
function isFailure({ outcome, status = 0 }: CallQuery): boolean {
  return status >= FIRST_ERROR_STATUS || (outcome !== undefined && outcome !== 'completed')
}

/** Whether no index covers the query, or only one of its filters, so that it may read as many rows as a report. */
function isSearch(query: KeptCallsQuery): boolean {
  const { account, appId, credentialId, model, requestId, status } = query
  if (requestId !== undefined || query.ids !== undefined) return false
  const narrowing = [account, appId, credentialId, model].filter((filter) => filter !== undefined)
  return status !== undefined || narrowing.length > 1
}
