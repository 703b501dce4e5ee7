import { z } from 'zod'
import type { CallPage, KeptCall } from '../contracts/index.js'
import { idSchema, idsSchema, parseField, parseInput, whose } from '../rules/schemas.js'
import type { SqlDatabase } from '../sql/database.js'
import { entryOfCall } from '../sql/entry-of-call.js'
import { findCall, type KeptCallsQuery, readCalls } from '../sql/read-calls.js'
import { type CallsOverTime, type CallsOverTimeQuery, readCallsOverTime } from './calls-over-time.js'
import { historyFilters } from './entries.js'

export interface CallsAdmin {
  /** Returns how calls ended, newest first, in pages: calls of all processes, including failures and refusals. */
  list(query?: KeptCallsQuery): Promise<CallPage>
  /**
   * Returns the recorded call with this id. If there is none, returns the newest one with this request id. With an
   * account, finds only that account's calls. Returns undefined if there is none.
   */
  find(id: string, query?: { readonly account?: string }): Promise<FoundCall | undefined>
  /** Counts kept calls and failures by steps of time, with their latency, each step in parts by error code, model, key or another key. */
  overTime(query: CallsOverTimeQuery): Promise<CallsOverTime>
}

export interface FoundCall extends KeptCall {
  /** The entry that charged it. Absent if it was not charged, or its charge is not posted yet. */
  readonly entryId?: string
}

const callsSchema = z.strictObject({
  ...historyFilters,
  ids: whose(idsSchema),
  status: z.number().optional(),
  outcome: z.string().optional(),
  problems: z.boolean().optional(),
})

const findSchema = z.strictObject({ account: whose(idSchema) })

export function createCallsAdmin(database: SqlDatabase): CallsAdmin {
  return {
    async list(query = {}) {
      parseInput(callsSchema, query, 'calls')
      return readCalls(database, query)
    },
    async find(id, query = {}) {
      const { account } = parseInput(findSchema, query, 'call')
      const call = await findCall(database, account, parseField(idSchema, id, 'id', 'call'))
      if (call === undefined) return undefined
      const entryId = await entryOfCall(database, call)
      return entryId === undefined ? call : { ...call, entryId }
    },
    overTime: (query) => readCallsOverTime(database, query),
  }
}
