import { z } from 'zod'
import { formatCredits } from '../../base/money.js'
import { version } from '../../base/version.js'
import type { RouterEvent } from '../../contracts/index.js'
import { nameSchema } from '../../rules/schemas.js'
import { readCallsInFlight } from '../serving/calls-in-flight.js'
import { emptySchema, get, limitSchema } from '../serving/endpoint.js'
import type { KeptEvent } from '../serving/event-log.js'
import { type References, readReferences } from '../serving/references.js'
import { accountOf, type ConsoleViewer, isPublisher } from '../serving/viewer.js'
import { callParts, explanationView } from '../serving/views.js'

const MAX_SHOWN = 500

const liveQuery = z.strictObject({
  /** Only the call with this hold. */
  holdId: nameSchema.optional(),
})

export const liveEndpoints = [
  get('me', 'both', 'viewer', emptySchema, async (_, context) => {
    const { signOutPath, ...viewer } = context.viewer
    return {
      viewer,
      /** The router's path on this origin, such as `/compat/v1`: the base URL of the playground's calls. */
      routerPath: context.routerPath,
      /** Relative to the mount. POST `{}` to it, then reload. Absent if the host has its own sign-out. */
      signOutPath,
      publishes: await isPublisher(context.viewer, context),
      version,
    }
  }),

  /** The current activity. Pages ask for it once a second. Only an operator sees routes. */
  get('live', 'both', 'inFlight', liveQuery, async ({ holdId }, context) => {
    const inFlight = await readCallsInFlight(context, MAX_SHOWN + 1, holdId)
    return {
      at: context.clock.now(),
      inFlight: inFlight.slice(0, MAX_SHOWN),
      isCut: inFlight.length > MAX_SHOWN,
      routes: context.viewer.kind === 'operator' ? context.routers.routes() : [],
    }
  }),

  get(
    'events',
    'both',
    'events',
    z.strictObject({
      account: nameSchema.optional(),
      model: nameSchema.optional(),
      requestId: nameSchema.optional(),
      problems: z.enum(['true', 'false']).optional(),
      limit: limitSchema(1_000, 100),
    }),
    async (query, { viewer, admin, log }) => {
      const account = accountOf(viewer, query.account)
      const found: KeptEvent[] = []
      for (const kept of log.newestFirst()) {
        if (account !== undefined && accountIn(kept.event) !== account) continue
        if (query.model !== undefined && factsIn(kept.event)?.model !== query.model) continue
        if (query.requestId !== undefined && requestIdIn(kept.event) !== query.requestId) continue
        if (query.problems === 'true' && !isProblem(kept.event)) continue
        found.push(kept)
        if (found.length === query.limit) break
      }
      const references = await readReferences(
        admin,
        found.map(({ event }) => factsIn(event) ?? callerIn(event)),
      )
      return {
        events: found.map((kept) => eventView(kept, viewer, references)),
        capacity: log.capacity,
        completedASecond: log.completedASecond,
        unauthenticated: log.unauthenticated,
      }
    },
  ),
]

type Kept = KeptEvent['event']

function factsIn(event: Kept) {
  switch (event.type) {
    case 'request-end':
    case 'call-abandoned':
      return event.facts
    case 'charge-failed':
      return event.request.facts
    case 'hold-expired':
      return event.hold.facts
    default:
      return undefined
  }
}

function callerIn(event: Kept) {
  return event.type === 'request-end' ? event.caller : undefined
}

function requestIdIn(event: Kept): string | undefined {
  return 'requestId' in event ? event.requestId : factsIn(event)?.requestId
}

function accountIn(event: Kept): string | undefined {
  return event.type === 'hold-expired' ? event.hold.account : (factsIn(event) ?? callerIn(event))?.account
}

function isProblem(event: Kept): boolean {
  return event.type !== 'request-end' || event.charge === undefined || event.outcome !== 'completed'
}

function eventView({ number, at, event }: KeptEvent, viewer: ConsoleViewer, references: References) {
  const isEnd = event.type === 'request-end'
  const charge = isEnd ? event.charge : event.type === 'charge-failed' ? event.request.charge : undefined
  return {
    /** Counts up from 1. */
    number,
    at,
    type: event.type,
    requestId: requestIdIn(event),
    account: accountIn(event),
    message: isEnd ? undefined : messageOf(event, viewer),
    ...callParts({ facts: factsIn(event), caller: callerIn(event), charge }, references),
    explanation: isEnd ? explanationView(event, viewer) : undefined,
  }
}

/** Only an operator sees the internal cause. */
function messageOf(event: Exclude<Kept, { type: 'request-end' }>, { kind }: ConsoleViewer): string {
  switch (event.type) {
    case 'charge-failed':
      return `The charge could not be posted in time${kind === 'operator' ? `: ${event.error.message}` : ''}`
    case 'hold-expired':
      return `A hold of ${formatCredits(event.hold.amount)} credits expired and no longer counts`
    case 'call-abandoned':
      return 'The client left before the first token; nothing was charged'
    case 'claim-lost':
      return `The charge of ${event.holdId} was posted although another call had taken its Idempotency-Key`
    case 'usage-implausible':
      return `${event.routeId} reported ${event.value} as ${event.field}, which is not a plausible token count`
    case 'reply-mended': {
      const left = event.dropped.length > 0 ? `; left out: ${event.dropped.join(', ')}` : ''
      return `A reply of ${event.routeId} was mended (${event.kinds.join(', ')})${left}`
    }
    case 'request-trimmed':
      return `Removed from a request for ${event.model}, since unknown members are not sent to providers: ${event.members.join(', ')}`
    case 'calls-dropped':
      return `${event.count} calls were not kept${event.error === undefined ? '' : `: ${event.error.message}`}`
    case 'store-fault':
      return `The ${event.store} store failed: ${event.error.message}`
    case 'body-consumed':
      return event.hint
    case 'route-disabled':
      return `The route ${event.routeId} cannot be used: ${event.why}`
    case 'route-misconfigured':
      return `The route ${event.routeId} is misconfigured: ${event.why}`
    case 'route-restored':
      return `The route ${event.routeId} is used again: ${event.why}`
    case 'watch-lost':
      return `The stores no longer report changes, so nothing is cached: ${event.why}`
    case 'watch-restored':
      return `The stores report changes again, after ${Math.round(event.afterMs / 1_000)} s`
    case 'process-cleared':
      return `The process ${event.process} no longer responds: ${event.holds} holds and ${event.keys} keys are free`
    case 'totals-behind':
      return `The totals of reports are ${Math.round(event.behindMs / 1_000)} s behind`
    case 'fault':
      return `${event.where}: ${event.error.message}`
    default:
      return textOf(event)
  }
}

/** Covers events of a later release. */
function textOf(event: RouterEvent): string {
  return event.type
}
