import { z } from 'zod'
import { present } from '../../base/present.js'
import type { CallQuery, KeptCall } from '../../contracts/index.js'
import { matchesCall, ownerOfCall } from '../../rules/kept-calls.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Column, csvReply } from '../serving/csv.js'
import { type Context, get } from '../serving/endpoint.js'
import type { EventLog } from '../serving/event-log.js'
import { NO_REFERENCES, type References, readReferences } from '../serving/references.js'
import { accountOf, type ConsoleViewer } from '../serving/viewer.js'
import { callParts, explanationView } from '../serving/views.js'
import { callFilters, pageFilters } from './entries.js'

/** Filters of how a call ended. */
export const endFilters = {
  status: z
    .string()
    .regex(/^[1-9]\d\d$/, 'must be an HTTP status, such as 502')
    .transform(Number)
    .optional(),
  /** `completed`, `client-left` or an error code. */
  outcome: nameSchema.optional(),
  /** Only calls that did not complete, or that completed without a charge. */
  problems: z.enum(['true', 'false']).optional(),
}

const filterSchema = z.strictObject({
  ...callFilters,
  /** Only the call with this id: that of its reply, if a route was tried. */
  id: nameSchema.optional(),
  ...endFilters,
})
type Filters = z.infer<typeof filterSchema>

const columns: readonly Column<ReturnType<typeof callView>>[] = [
  { name: 'time', of: ({ at }) => new Date(at).toISOString() },
  { name: 'operation', of: ({ operation }) => operation },
  { name: 'status', kind: 'number', of: ({ explanation }) => explanation.status },
  { name: 'outcome', of: ({ explanation }) => explanation.outcome },
  { name: 'field', of: ({ field }) => field },
  { name: 'model', of: ({ askedModel, facts }) => facts?.model ?? askedModel },
  { name: 'account', of: ({ account }) => account },
  { name: 'credential', of: (call) => (call.facts ?? call.caller)?.credentialId },
  { name: 'app', of: (call) => (call.facts ?? call.caller)?.appId },
  { name: 'provider', of: ({ facts }) => facts?.provider },
  { name: 'route', of: ({ facts }) => facts?.routeId },
  { name: 'chosen_by', of: ({ explanation }) => explanation.routing?.chosenBy },
  { name: 'attempts', of: ({ explanation }) => explanation.routing?.attempts.map(attemptText).join('; ') },
  { name: 'duration_ms', kind: 'number', of: ({ explanation }) => Math.round(explanation.durationMs) },
  { name: 'first_token_ms', kind: 'number', of: ({ explanation }) => roundedMs(explanation.firstTokenMs) },
  { name: 'finish', of: ({ explanation }) => explanation.finishReason },
  { name: 'prompt_tokens', kind: 'number', of: ({ charge }) => charge?.usage.prompt },
  { name: 'completion_tokens', kind: 'number', of: ({ charge }) => charge?.usage.completion },
  { name: 'cost', kind: 'number', of: ({ charge }) => charge?.cost },
  { name: 'request', of: ({ requestId }) => requestId },
  { name: 'completion', of: ({ facts }) => facts?.completionId },
]

function attemptText({ routeId, outcome, why }: { routeId: string; outcome: string; why?: string }): string {
  return `${routeId}: ${why === undefined ? outcome : `${outcome}, ${why}`}`
}

function roundedMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms)
}

export const callEndpoints = [
  get(
    'calls',
    'both',
    'calls',
    filterSchema.extend(pageFilters),
    async ({ after, limit, ...query }, context) => listCalls(query, present({ limit, after }), context, true),
  ),
  get('calls.csv', 'both', 'csv', filterSchema, async (query, context) =>
    csvReply('calls.csv', columns, async (page) => {
      const { calls: rows, next } = await listCalls(query, page, context, false)
      return { rows, next }
    }),
  ),
]

/**
 * How calls ended, newest first: those that the database keeps, of all processes. The first page also contains the calls
 * that only this process remembers, and may then be longer than its limit.
 */
export async function listCalls(
  { id, key, problems, account, ...others }: Filters,
  page: { readonly limit: number; readonly after?: string },
  { viewer, admin, log }: Context,
  withReferences: boolean,
) {
  const query: CallQuery = present({
    ...others,
    account: accountOf(viewer, account),
    credentialId: key,
    problems: problems === 'true' ? true : undefined,
  })
  const { calls: kept, next } = await admin.calls.list({
    ...query,
    ...present({ ids: id === undefined ? undefined : [id] }),
    ...page,
  })
  const oldest = next === undefined ? 0 : (kept.at(-1)?.at ?? 0)
  const calls =
    page.after === undefined && id === undefined
      ? [...remembered(query, kept, oldest, log), ...kept].sort((one, other) => other.at - one.at)
      : kept
  const references = withReferences ? await readReferences(admin, calls.map(ownerOfCall)) : NO_REFERENCES
  return { calls: calls.map((call) => callView(call, viewer, references)), next }
}

/**
 * Returns the calls that this process remembers and the page does not contain: they are not written yet, or the host has
 * not given the stores' `calls` to its router.
 */
function remembered(
  query: CallQuery,
  kept: readonly KeptCall[],
  oldest: number,
  log: EventLog,
): readonly KeptCall[] {
  const known = new Set(kept.map(keyOf))
  return log.newestFirst().flatMap(({ event, number }) => {
    if (event.type !== 'request-end' || event.at < oldest) return []
    const call = { ...event, at: Math.ceil(event.at), id: `remembered-${number}` }
    return known.has(keyOf(call)) || !matchesCall(call, query) ? [] : [call]
  })
}

/** Clients may choose request ids, and use one for several calls. */
function keyOf({ at, operation, requestId }: Pick<KeptCall, 'at' | 'operation' | 'requestId'>): string {
  return JSON.stringify([requestId, operation, at])
}

function callView(call: KeptCall, viewer: ConsoleViewer, references: References) {
  return {
    /** Unique in a reply. */
    key: call.id,
    at: call.at,
    requestId: call.requestId,
    operation: call.operation,
    account: ownerOfCall(call)?.account,
    ...callParts(call, references),
    askedModel: call.askedModel,
    field: call.field,
    explanation: explanationView(call, viewer),
  }
}
