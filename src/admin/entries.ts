import { z } from 'zod'
import type { CallPage, EntryPage } from '../contracts/index.js'
import { idSchema, idsSchema, parseInput, whose } from '../rules/schemas.js'
import type { SqlDatabase } from '../sql/database.js'
import { type PayerQuery, readEntries } from '../sql/entries.js'
import { type KeptCallsQuery, readCalls } from '../sql/read-calls.js'

export { isSearch } from '../sql/entries.js'

/** The filters that entries and kept calls have in common. */
const filters = {
  account: whose(idSchema),
  appId: whose(idSchema),
  credentialId: whose(idSchema),
  model: idSchema.optional(),
  requestId: idSchema.optional(),
  from: z.number().optional(),
  to: z.number().optional(),
  after: z.string().optional(),
  limit: z.number().optional(),
}
const entriesSchema = z.strictObject({
  ...filters,
  payer: whose(idSchema),
  sessionId: idSchema.optional(),
})
const callsSchema = z.strictObject({
  ...filters,
  ids: whose(idsSchema),
  status: z.number().optional(),
  outcome: z.string().optional(),
  problems: z.boolean().optional(),
})

export async function listEntries(database: SqlDatabase, query: PayerQuery): Promise<EntryPage> {
  parseInput(entriesSchema, query, 'entries')
  return readEntries(database, query)
}

export async function listCalls(database: SqlDatabase, query: KeptCallsQuery): Promise<CallPage> {
  parseInput(callsSchema, query, 'calls')
  return readCalls(database, query)
}
