import { invalidInput } from '../base/invalid-input.js'
import { readLimit } from '../base/page-limit.js'
import type { EntryPage, EntryQuery } from '../contracts/index.js'
import { createConditions } from './conditions.js'
import type { SqlDatabase } from './database.js'
import { toEntryIdCell } from './entry-ids.js'
import { readEntry } from './entry-rows.js'

const CURSOR_PATTERN = /^(\d{1,16})\.(\d{1,18})$/

/** An entry query with filters that only administration may use. */
export interface PayerQuery extends EntryQuery {
  /** Only charges that this account paid, and refunds of them. */
  readonly payer?: string
  /** Only charges and refunds of calls with this credential. */
  readonly credentialId?: string
  /** Only charges and refunds of calls with this request id. Several calls may share one, since clients may choose it. */
  readonly requestId?: string
  /** Only the credit, correction or refund with this reference. */
  readonly reference?: string
  /** Only the entry with this id. */
  readonly entryId?: string
  /** Only credits, corrections and refunds. */
  readonly payments?: boolean
}

/** Returns a page of entries, newest first. Throws a `RangeError` or `TypeError` if `limit` or `after` is invalid. */
export async function readEntries(database: SqlDatabase, query: PayerQuery): Promise<EntryPage> {
  const limit = readLimit(query.limit)
  const { conditions, parameters, add, addEqual, addTimes, where } = createConditions()
  const { account, appId, credentialId, entryId, model, reference, requestId, sessionId } = query
  // An account's postings are in the same order as its entries, so they serve as the index. A session has few entries, and a
  // reference one.
  const isByPostings =
    account !== undefined && sessionId === undefined && reference === undefined && entryId === undefined
  const [at, id] = isByPostings ? ['p.at', 'p.entry_id'] : ['e.at', 'e.id']
  if (isByPostings) add((value) => `p.account = ${value}`, account)
  else if (account !== undefined) {
    add(
      (value) =>
        `exists (select 1 from {postings} p where p.account = ${value} and p.at = e.at and p.entry_id = e.id)`,
      account,
    )
  }
  if (query.payer !== undefined) {
    add((value) => `e.account = ${value}`, query.payer)
    conditions.push("e.kind in ('charge', 'refund')")
  }
  addEqual({
    'e.app_id': appId,
    'e.credential_id': credentialId,
    'e.id': entryId === undefined ? undefined : toEntryIdCell(entryId),
    'e.model': model,
    'e.reference': reference,
    'e.session_id': sessionId,
  })
  if (requestId !== undefined) {
    // This text occurs in no other string of the details, because its quotes would be escaped. `like` may ignore case.
    add(
      (value) => `replace(e.details, ${value}, '') <> e.details`,
      `"requestId":${JSON.stringify(requestId)}`,
    )
  }
  if (query.payments === true) conditions.push("e.kind <> 'charge'")
  addTimes(at, query)
  if (query.after !== undefined) {
    const [, lastAt, lastId] = CURSOR_PATTERN.exec(query.after) ?? []
    if (lastAt === undefined || lastId === undefined) {
      throw invalidInput({ field: 'after' }, 'must be the `next` of an earlier page')
    }
    parameters.push(BigInt(lastAt), BigInt(lastId))
    conditions.push(`(${at}, ${id}) < (?${parameters.length - 1}, ?${parameters.length})`)
  }
  parameters.push(BigInt(limit + 1))
  const rows = await database.all({
    ...(isSearch(query) && { isReport: true }),
    text: `select e.* from ${isByPostings ? '{postings} p join {entries} e on e.id = p.entry_id' : '{entries} e'}
      ${where()}
      order by ${at} desc, ${id} desc limit ?${parameters.length}`,
    parameters,
  })
  const entries = rows.slice(0, limit).map(readEntry)
  const last = entries.at(-1)
  return rows.length > limit && last !== undefined ? { entries, next: `${last.at}.${last.id}` } : { entries }
}

/**
 * Returns whether a query may take as long as a report. No index covers two of these filters, or a credential or a request:
 * it would slow down every settlement for a rare query.
 */
export function isSearch(query: PayerQuery): boolean {
  const { account, appId, credentialId, entryId, model, reference, requestId, sessionId } = query
  if (reference !== undefined || entryId !== undefined) return false
  const payments = query.payments === true ? 'payments' : undefined
  const narrowing = [account, appId, model, payments, sessionId].filter((one) => one !== undefined)
  return credentialId !== undefined || requestId !== undefined || narrowing.length > 1
}
