import type { KeptCall } from '../contracts/index.js'
import { readBigint } from './cells.js'
import type { SqlDatabase } from './database.js'
import { findCall } from './read-calls.js'

/** How far the clocks of a process and of the database may differ. */
const MOST_SKEW_MS = 600_000

/** Returns the id of the entry that charged a kept call. Undefined if it was not charged, or its charge is not posted yet. */
export async function entryOfCall(
  database: SqlDatabase,
  { at, charge, facts, holdId }: KeptCall,
): Promise<string | undefined> {
  if (charge === undefined || facts === undefined || holdId === undefined) return undefined
  const [row] = await database.all({
    text: `select e.id from {postings} p join {entries} e on e.id = p.entry_id
      where p.account = ?1 and p.at between ?2 and ?3 and e.hold_id = ?4`,
    parameters: [facts.account, BigInt(at - MOST_SKEW_MS), BigInt(at + MOST_SKEW_MS), holdId],
  })
  return row && readBigint(row, 'id').toString()
}

/** Like {@link entryOfCall}, for the kept call with this reply. */
export async function entryOfReply(database: SqlDatabase, replyId: string): Promise<string | undefined> {
  const call = await findCall(database, undefined, replyId)
  // Calls of one client may share a request id.
  return call?.id === replyId ? entryOfCall(database, call) : undefined
}
