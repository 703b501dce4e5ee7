import { z } from 'zod'
import type { Admin } from '../../admin/index.js'
import type { Credits } from '../../base/money.js'
import { present } from '../../base/present.js'
import { MEDIA_UNITS } from '../../base/units.js'
import type { Entry } from '../../contracts/index.js'
import { isPlainText } from '../../protocol/text.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Column, csvReply } from '../serving/csv.js'
import { type Context, get, limitSchema, post, timeTextSchema } from '../serving/endpoint.js'
import type { EventLog } from '../serving/event-log.js'
import { NO_REFERENCES, readReferences } from '../serving/references.js'
import { accountOf } from '../serving/viewer.js'
import { type CallEnd, type EntryView, entryView } from '../serving/views.js'
import { posted } from './accounts.js'

/** Filters that entries and calls have in common. A user may ask only for its own account, which is the default. */
export const callFilters = {
  account: nameSchema.optional(),
  appId: nameSchema.optional(),
  model: nameSchema.optional(),
  /** A credential's id. */
  key: nameSchema.optional(),
  /** A client may have used the same one for several calls. */
  requestId: nameSchema.optional(),
  from: timeTextSchema.optional(),
  to: timeTextSchema.optional(),
}
/** `next` of the page before, and from 1 to 200 rows. */
export const pageFilters = { after: z.string().max(64).optional(), limit: limitSchema(200, 50) }

const filterSchema = z.strictObject({
  ...callFilters,
  sessionId: z.string().max(8_192).refine(isPlainText, 'must be text without control characters').optional(),
  reference: nameSchema.optional(),
  entryId: nameSchema.optional(),
  /** Only credits, corrections and refunds. */
  payments: z.enum(['true', 'false']).optional(),
})
/** `refund` checks the other members itself. */
const refundBody = z.strictObject({
  entryId: nameSchema,
  amount: z.string().optional(),
  reference: z.string().optional(),
  memo: z.string().optional(),
})
type Filters = z.infer<typeof filterSchema>

const columns: readonly Column<EntryView>[] = [
  { name: 'time', of: (entry) => new Date(entry.at).toISOString() },
  { name: 'entry', of: (entry) => entry.id },
  { name: 'kind', of: (entry) => entry.kind },
  { name: 'amount', kind: 'number', of: amountOf },
  { name: 'account', of: (entry) => entry.facts?.account ?? entry.postings[0]?.account },
  { name: 'model', of: (entry) => entry.facts?.model ?? entry.earnedFrom?.model },
  { name: 'app', of: (entry) => entry.facts?.appId ?? entry.earnedFrom?.appId },
  { name: 'provider', of: (entry) => entry.facts?.provider },
  { name: 'route', of: (entry) => entry.facts?.routeId },
  { name: 'credential', of: (entry) => entry.facts?.credentialId },
  { name: 'session', of: (entry) => entry.facts?.sessionId },
  { name: 'user', of: (entry) => entry.facts?.user },
  { name: 'request', of: (entry) => entry.facts?.requestId },
  { name: 'completion', of: (entry) => entry.facts?.completionId },
  { name: 'cost', kind: 'number', of: (entry) => entry.charge?.cost },
  { name: 'base', kind: 'number', of: (entry) => entry.charge?.base },
  { name: 'markup', kind: 'number', of: (entry) => entry.charge?.markup },
  { name: 'basis', of: (entry) => entry.charge?.basis },
  { name: 'own_key', of: (entry) => (entry.charge === undefined ? undefined : String(entry.charge.byok)) },
  { name: 'price_version', of: (entry) => entry.charge?.priceVersion },
  { name: 'prompt_tokens', kind: 'number', of: (entry) => entry.charge?.usage.prompt },
  { name: 'cached_tokens', kind: 'number', of: (entry) => entry.charge?.usage.cached },
  { name: 'cache_write_tokens', kind: 'number', of: (entry) => entry.charge?.usage.cacheWrite },
  { name: 'completion_tokens', kind: 'number', of: (entry) => entry.charge?.usage.completion },
  { name: 'reasoning_tokens', kind: 'number', of: (entry) => entry.charge?.usage.reasoning },
  ...MEDIA_UNITS.map(({ name, column }) => ({
    name: `${column}_tokens`,
    kind: 'number' as const,
    of: (entry: EntryView) => entry.charge?.usage[name],
  })),
  { name: 'refund_of', of: (entry) => entry.refund?.of },
  { name: 'refunded', kind: 'number', of: (entry) => entry.refund?.amount },
  { name: 'memo', of: (entry) => entry.memo },
  { name: 'reference', of: (entry) => entry.reference },
  { name: 'ended', of: outcomeOf },
]

/** The amount of the queried account. A credit or a correction has only one, whichever account was queried. */
function amountOf({ kind, amount, postings }: EntryView): Credits | undefined {
  return amount ?? (kind === 'charge' || kind === 'refund' ? undefined : postings[0]?.amount)
}

/** Shows the same as the page. The outcome of a call is known only while the call is kept or remembered. */
function outcomeOf({ kind, explanation }: EntryView): string | undefined {
  if (explanation !== undefined) return explanation.outcome
  return kind === 'charge' ? 'posted' : undefined
}

export const entryEndpoints = [
  get(
    'entries',
    'both',
    'entries',
    filterSchema.extend(pageFilters),
    async ({ after, limit, ...query }, context) =>
      listEntries(query, present({ limit, after }), context, true),
  ),
  post('entries/refund', 'operator', 'entry', refundBody, async ({ entryId, amount, ...options }, context) =>
    posted(await context.admin.entries.refund(entryId, amount, present(options)), context),
  ),
  get('entries.csv', 'both', 'csv', filterSchema, async (query, context) =>
    csvReply('entries.csv', columns, async (page) => {
      const { entries: rows, next } = await listEntries(query, page, context, false)
      return { rows, next }
    }),
  ),
]

/** Newest first. */
export async function listEntries(
  filter: Filters,
  page: { readonly limit: number; readonly after?: string },
  { viewer, admin, log }: Context,
  withReferences: boolean,
) {
  const account = accountOf(viewer, filter.account)
  const { key: credentialId, payments, ...others } = filter
  const query = present({
    ...others,
    credentialId,
    ...page,
    payments: payments === 'true' ? true : undefined,
    account: account ?? (await ownerOf(credentialId, admin)),
    payer: viewer.kind === 'user' && isOfPayer(filter) ? account : undefined,
  })
  const { entries, next } = await admin.entries.list(query)
  const isOpen = (payer: string): boolean => viewer.kind === 'operator' || payer === viewer.account
  const open = entries.map(({ facts }) => (facts !== undefined && isOpen(facts.account) ? facts : undefined))
  const references = withReferences ? await readReferences(admin, open) : NO_REFERENCES
  const ends = await endsOf(entries, log, admin)
  const endOf = ({ holdId }: Entry) => (holdId === undefined ? undefined : ends.get(holdId))
  const views = entries.map((entry) => entryView(entry, viewer, account, endOf(entry), references))
  // A user is not shown the reference of a refund that others paid for, and must not find it by a guess either.
  return {
    entries: views.filter(({ reference }) => filter.reference === undefined || reference !== undefined),
    next,
  }
}

/** Returns how the calls of these entries ended, by their holds: as this process remembers, otherwise as the database keeps. */
async function endsOf(
  entries: readonly Entry[],
  log: EventLog,
  admin: Admin,
): Promise<ReadonlyMap<string, CallEnd>> {
  const ends = new Map<string, CallEnd>(log.endsByHold())
  const ids = entries.flatMap(({ facts, holdId }) =>
    holdId === undefined || ends.has(holdId) ? [] : (facts?.completionId ?? []),
  )
  if (ids.length === 0) return ends
  const { calls } = await admin.calls.list({ ids, limit: ids.length })
  for (const call of calls) if (call.holdId !== undefined) ends.set(call.holdId, call)
  return ends
}

/** Only the payer may know its sessions, keys and requests. These filters would reveal them to an account that earned from the call. */
function isOfPayer({ sessionId, key, requestId }: Filters): boolean {
  return sessionId !== undefined || key !== undefined || requestId !== undefined
}

/** Returns the account that pays with this key: entries are indexed by account, but not by key. */
async function ownerOf(credentialId: string | undefined, admin: Admin): Promise<string | undefined> {
  if (credentialId === undefined) return undefined
  const [owner] = await admin.keys.list({ credentialId })
  return owner?.account
}
