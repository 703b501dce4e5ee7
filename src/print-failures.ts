import { LRUCache } from 'lru-cache'
import type { EventError, RequestEnd, RouterEvent } from './contracts/events.js'
import { incidentOf } from './log-events.js'

/** How long a failure of one kind is not printed again. */
const PAUSE_MS = 10_000
/** The number of kinds of failures whose pauses are remembered. */
const KINDS = 100
const HINT = ' Set onEvent to receive every event, or to false to print nothing.'

interface Printed {
  readonly at: number
  /** How many failures of this kind came since then. */
  missed: number
}

/**
 * Returns the `onEvent` of a router whose host has set none. It prints one line for each failure: a request that this
 * service or a provider failed, and each other event that a host should look into. A kind of failure is printed at most
 * once in ten seconds, then with the number of failures not printed.
 *
 * @param now returns milliseconds
 */
export function printFailures(
  print: (line: string) => void,
  now: () => number,
): (event: RouterEvent) => void {
  const printed = new LRUCache<string, Printed>({ max: KINDS })
  let hint = HINT
  return (event) => {
    const failure = event.type === 'request-end' ? failedRequest(event) : failedIncident(event)
    if (failure === undefined) return
    const at = now()
    const { kind, text } = failure
    const last = printed.get(kind)
    if (last !== undefined && at - last.at < PAUSE_MS) {
      last.missed++
      return
    }
    printed.set(kind, { at, missed: 0 })
    const missed = last === undefined || last.missed === 0 ? '' : ` (and ${last.missed} more before)`
    print(`compat-router: ${text}${missed}${hint}`)
    hint = ''
  }
}

interface Failure {
  /** Failures with the same kind count as repeats. */
  readonly kind: string
  readonly text: string
}

function failedRequest({ facts, operation, outcome, requestId, routing, status }: RequestEnd): Failure {
  const model = facts === undefined ? '' : ` for ${facts.model}`
  const attempts =
    routing?.attempts.map(({ outcome: how, routeId, why }) => `${routeId}: ${why ?? how}`) ?? []
  const why = attempts.length === 0 ? '' : `: ${attempts.join('; ')}`
  return {
    kind: `${operation} ${outcome}${model}`,
    text: `${operation}${model} failed with ${status} ${outcome}${why} [${requestId}]`,
  }
}

function failedIncident(event: Exclude<RouterEvent, RequestEnd>): Failure | undefined {
  const incident = incidentOf(event)
  if (incident === undefined) return undefined
  // The end of a printed problem is printed too.
  if (incident.level === 'info' && !event.type.endsWith('-restored')) return undefined
  const where = placeOf(event)
  const error = 'error' in event && event.error !== undefined ? describe(event.error) : ''
  const count = event.type === 'calls-dropped' ? `: ${event.count}` : ''
  const why = 'why' in event ? `: ${event.why}` : 'hint' in event ? `: ${event.hint}` : ''
  const requestId = 'requestId' in event && event.requestId !== undefined ? ` [${event.requestId}]` : ''
  return {
    kind: `${event.type} ${where}`,
    text: `${incident.message}${where === '' ? '' : ` (${where})`}${count}${why}${error}${requestId}`,
  }
}

function placeOf(event: RouterEvent): string {
  switch (event.type) {
    case 'store-fault':
      return event.store
    case 'fault':
      return event.where
    case 'route-disabled':
    case 'route-misconfigured':
    case 'route-restored':
      return event.routeId
    case 'usage-implausible':
      return `${event.routeId}, ${event.field}`
    case 'charge-failed':
      return event.request.holdId
    case 'hold-expired':
      return event.hold.holdId
    default:
      return ''
  }
}

function describe({ cause, message, name }: EventError): string {
  return `: ${name}: ${message}${cause === undefined ? '' : describe(cause)}`
}
