import { z } from 'zod'
import { createIdSource } from '../base/ids.js'
import { outOfRange } from '../base/invalid-input.js'
import { parseCredits } from '../base/money.js'
import type { EntryPage } from '../contracts/index.js'
import {
  creditsSchema,
  idSchema,
  labelSchema,
  parseField,
  parseInput,
  referenceSchema,
  whose,
} from '../rules/schemas.js'
import type { Recorder } from '../sql/audit.js'
import type { PostedEntry } from '../sql/credits.js'
import type { SqlDatabase } from '../sql/database.js'
import { type PayerQuery, readEntries } from '../sql/entries.js'
import { isEntryId } from '../sql/entry-ids.js'
import { entryOfReply } from '../sql/entry-of-call.js'
import { postRefund } from '../sql/refunds.js'

export { isSearch } from '../sql/entries.js'

/** The filters that entries and kept calls have in common. */
export const historyFilters = {
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
  ...historyFilters,
  payer: whose(idSchema),
  sessionId: idSchema.optional(),
  reference: idSchema.optional(),
  entryId: idSchema.optional(),
  payments: z.boolean().optional(),
})

export interface RefundOptions {
  /** Works as in `CreditRequest`. A repeat returns the first entry only if it is a refund of the same charge and amount. */
  readonly reference?: string
  readonly memo?: string
}

export interface EntriesAdmin {
  /** Newest first, in pages. */
  list(query?: PayerQuery): Promise<EntryPage>
  /**
   * Reverses a charge in a separate posting: what the payer paid, and what others earned, in proportion. Without an
   * `amount`, a decimal string of credits, it reverses everything that is left of the charge. All refunds together are
   * never more than its cost. Budgets in credits that counted the charge get the amount back, as long as their period
   * is running. Rejects if there is no such charge, or if less of it is left.
   *
   * @param entryId the id of its entry, or of the reply that it paid for, as long as the call is kept
   */
  refund(entryId: string, amount?: string, options?: RefundOptions): Promise<PostedEntry>
}

const refundSchema = z.strictObject({
  reference: referenceSchema,
  memo: labelSchema.optional(),
})

export function createEntriesAdmin(database: SqlDatabase, recorder: Recorder): EntriesAdmin {
  const newId = createIdSource()
  return {
    async list(query = {}) {
      parseInput(entriesSchema, query, 'entries')
      return readEntries(database, query)
    },
    async refund(id, text, options = {}) {
      parseField(idSchema, id, 'entryId')
      const { memo, reference = newId() } = parseInput(refundSchema, options, 'refund')
      const credits = parseField(creditsSchema.optional(), text, 'amount', 'refund')
      const amount = credits === undefined ? undefined : parseCredits(credits)
      if (amount === 0n) throw outOfRange({ of: 'refund', field: 'amount' }, 'must be above 0')
      const entryId = isEntryId(id) ? id : ((await entryOfReply(database, id)) ?? id)
      return postRefund(database, { entryId, amount, memo, reference }, recorder)
    },
  }
}
