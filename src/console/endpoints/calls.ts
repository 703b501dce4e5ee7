import { z } from 'zod'
import type { Admin } from '../../admin/index.js'
import { MEDIA_UNITS } from '../../base/units.js'
import type { Entry } from '../../contracts/index.js'
import { isPlainText } from '../../protocol/text.js'
import { nameSchema } from '../../rules/schemas.js'
import type { CallsReply, EntryView } from '../protocol/index.js'
import { type Column, csvPages } from '../serving/csv.js'
import { type Endpoint, get, limitSchema, post, type Services, timeTextSchema } from '../serving/endpoint.js'
import type { EventLog } from '../serving/event-log.js'
import { NO_REFERENCES, readReferences } from '../serving/references.js'
import { accountOf, type ConsoleViewer } from '../serving/viewer.js'
import { type CallEnd, entryView, present } from '../serving/views.js'
import { posted } from './accounts.js'

const filters = {
  account: nameSchema.optional(),
  appId: nameSchema.optional(),
  model: nameSchema.optional(),
  key: nameSchema.optional(),
  requestId: nameSchema.optional(),
  sessionId: z.string().max(8_192).refine(isPlainText, 'must be text without control characters').optional(),
  from: timeTextSchema.optional(),
  to: timeTextSchema.optional(),
}
const filterSchema = z.strictObject(filters)
/** `refund` checks the other members itself. */
const refundBody = z.strictObject({
  entryId: nameSchema,
  amount: z.string().optional(),
  reference: z.string().optional(),
  memo: z.string().optional(),
})
type Filters = z.infer<typeof filterSchema>

const CSV_PAGE = 1_000

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
  { name: 'ended', of: endOf },
]

/** The amount of the queried account. A grant or a correction has only one, whichever account was queried. */
function amountOf({ kind, amount, postings }: EntryView): string | undefined {
  return amount ?? (kind === 'charge' || kind === 'refund' ? undefined : postings[0]?.amount)
}

/** Shows the same as the page. The outcome of a call is known only while the call is kept or remembered. */
function endOf({ kind, explanation }: EntryView): string | undefined {
  if (explanation !== undefined) return explanation.outcome
  return kind === 'charge' ? 'posted' : undefined
}

export const callEndpoints: readonly Endpoint[] = [
  get(
    'calls',
    'both',
    z.strictObject({ ...filters, after: z.string().max(64).optional(), limit: limitSchema(200, 50) }),
    async ({ after, limit: most, ...query }, { viewer }, services): Promise<CallsReply> => {
      const page = { limit: most, ...(after === undefined ? {} : { after }) }
      return readPage(query, page, viewer, services, true)
    },
  ),

  post(
    'calls/refund',
    'operator',
    refundBody,
    async ({ entryId, amount, ...options }, { viewer }, { admin }) =>
      posted(await admin.refund(entryId, amount, present(options)), viewer, admin),
  ),

  get('calls.csv', 'both', filterSchema, async (query, { viewer }, services) => {
    const lines = csvPages(columns, async (after) => {
      const page = present({ limit: CSV_PAGE, after })
      const { entries, next } = await readPage(query, page, viewer, services, false)
      return { rows: entries, next }
    })
    return { csv: { fileName: 'calls.csv', lines } }
  }),
]

async function readPage(
  filter: Filters,
  page: { readonly limit: number; readonly after?: string },
  viewer: ConsoleViewer,
  { admin, log }: Services,
  withReferences: boolean,
): Promise<CallsReply> {
  const account = accountOf(viewer, filter.account)
  const { key: credentialId, ...others } = filter
  const query = present({
    ...others,
    credentialId,
    ...page,
    account: account ?? (await ownerOf(credentialId, admin)),
    payer: viewer.kind === 'user' && isOfPayer(filter) ? account : undefined,
  })
  const { entries, next } = await admin.entries(query)
  const isOpen = (payer: string): boolean => viewer.kind === 'operator' || payer === viewer.account
  const open = entries.map(({ facts }) => (facts !== undefined && isOpen(facts.account) ? facts : undefined))
  const references = withReferences ? await readReferences(admin, open) : NO_REFERENCES
  const ends = await endsOf(entries, log, admin)
  return {
    entries: entries.map((entry) =>
      entryView(
        entry,
        viewer,
        account,
        entry.holdId === undefined ? undefined : ends.get(entry.holdId),
        references,
      ),
    ),
    ...(next === undefined ? {} : { next }),
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
  const { calls } = await admin.listCalls({ ids, limit: ids.length })
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
  const [owner] = await admin.listCredentials({ credentialId })
  return owner?.account
}
