import { z } from 'zod'
import { formatCredits } from '../../base/money.js'
import { version } from '../../base/version.js'
import type { RouterEvent } from '../../contracts/index.js'
import { nameSchema } from '../../rules/schemas.js'
import type { EventsReply, EventView, LiveReply, MeReply } from '../protocol/index.js'
import { readCallsInFlight } from '../serving/calls-in-flight.js'
import { type Endpoint, emptySchema, get, limitSchema } from '../serving/endpoint.js'
import type { KeptEvent } from '../serving/event-log.js'
import { type References, readReferences } from '../serving/references.js'
import { accountOf, type ConsoleViewer, isPublisher } from '../serving/viewer.js'
import { callerView, chargeView, explanationView, factsView, present } from '../serving/views.js'

const MAX_SHOWN = 500

export const liveEndpoints: readonly Endpoint[] = [
  get('me', 'both', emptySchema, async (_, { viewer }, services): Promise<MeReply> => {
    const { signOutPath, ...who } = viewer
    const publishes = await isPublisher(viewer, services)
    const { routerPath } = services
    return present({ viewer: who, routerPath, signOutPath, publishes, version })
  }),

  get('live', 'both', emptySchema, async (_, { viewer }, services): Promise<LiveReply> => {
    const inFlight = await readCallsInFlight(viewer, services, MAX_SHOWN + 1)
    const routes = viewer.kind === 'operator' ? services.routers.routes() : []
    return {
      at: services.clock.now(),
      inFlight: inFlight.slice(0, MAX_SHOWN),
      isCut: inFlight.length > MAX_SHOWN,
      routes,
    }
  }),

  get(
    'events',
    'both',
    z.strictObject({
      account: nameSchema.optional(),
      model: nameSchema.optional(),
      requestId: nameSchema.optional(),
      problems: z.enum(['true', 'false']).optional(),
      limit: limitSchema(1_000, 100),
    }),
    async (query, { viewer }, { admin, log }): Promise<EventsReply> => {
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

function eventView(
  { number, at, event }: KeptEvent,
  viewer: ConsoleViewer,
  references: References,
): EventView {
  const facts = factsIn(event)
  const caller = callerIn(event)
  const isEnd = event.type === 'request-end'
  const charge = isEnd ? event.charge : event.type === 'charge-failed' ? event.request.charge : undefined
  return present({
    number,
    at,
    type: event.type,
    requestId: requestIdIn(event),
    account: accountIn(event),
    message: isEnd ? undefined : messageOf(event, viewer),
    facts: facts === undefined ? undefined : factsView(facts, references),
    caller: caller === undefined ? undefined : callerView(caller, references),
    charge:
      charge === undefined
        ? undefined
        : chargeView(charge, facts === undefined ? undefined : references.pricesOf(facts)),
    explanation: isEnd ? explanationView(event, viewer) : undefined,
  })
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
    case 'process-cleared':
      return `The process ${event.process} no longer responds: ${event.holds} holds and ${event.keys} keys are free`
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
