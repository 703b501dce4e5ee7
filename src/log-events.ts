import { formatCredits } from './base/money.js'
import type { RequestEnd, RouterEvent } from './contracts/events.js'
import { readOptions, withMethods } from './rules/read-options.js'

/** The methods of a logger that are called. Loggers of pino and of the same shape have them. */
export interface EventLogger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

type Level = keyof EventLogger
type Incident = Exclude<RouterEvent, { type: 'request-start' | 'request-end' }>

const INCIDENTS: Readonly<Record<Incident['type'], { readonly level: Level; readonly message: string }>> = {
  'charge-failed': { level: 'error', message: 'a charge could not be posted' },
  'store-fault': { level: 'error', message: 'a store failed' },
  'body-consumed': { level: 'error', message: 'another middleware consumed the request body' },
  fault: { level: 'error', message: 'an unexpected fault' },
  'hold-expired': { level: 'warn', message: 'a hold expired without a settlement' },
  'claim-lost': { level: 'warn', message: 'a charge was posted without its claim' },
  'usage-implausible': { level: 'warn', message: 'a provider reported an implausible token count' },
  'calls-dropped': { level: 'warn', message: 'some calls were not kept' },
  'route-disabled': { level: 'warn', message: 'a route cannot be used' },
  'route-misconfigured': { level: 'warn', message: 'a provider refuses the settings of a route' },
  'route-restored': { level: 'info', message: 'a misconfigured route is used again' },
  'watch-lost': { level: 'warn', message: 'the stores no longer report changes' },
  'watch-restored': { level: 'info', message: 'the stores report changes again' },
  'process-cleared': { level: 'warn', message: 'the holds of a dead process are free' },
  'totals-behind': { level: 'warn', message: 'the totals of reports are behind' },
  'reply-mended': { level: 'info', message: 'odd elements of a reply were repaired' },
  'request-trimmed': { level: 'info', message: 'unknown members of a request were left out' },
  'call-abandoned': { level: 'info', message: 'a client left before the first token' },
}

/** Returns the level and the message of an event, or undefined if it belongs to a request. */
export function incidentOf(
  event: RouterEvent,
): { readonly level: Level; readonly message: string } | undefined {
  return event.type === 'request-start' || event.type === 'request-end' ? undefined : INCIDENTS[event.type]
}

const loggerSchema = withMethods<EventLogger>('info', 'warn', 'error')

/**
 * Returns an `onEvent` that writes one line for each request and for each other event.
 *
 * The level of a request is `info` if it was completed or its client left, `error` if this service or a provider failed,
 * and `warn` if it was refused. Credits are decimal strings. No line contains a prompt, a reply, a credential, or a
 * client's `user`, `action` or `connected`. `onEvent` throws if the logger throws; the router ignores the error. If a
 * method of the logger returns a promise, only the first rejection becomes a process warning. Throws a `TypeError` if the
 * value is not a logger.
 */
export function logEvents(logger: EventLogger): (event: RouterEvent) => void {
  readOptions(loggerSchema, logger, 'logEvents', { field: 'logger' })
  let failed = false
  const fail = (error: unknown): void => {
    if (failed) return
    failed = true
    const why = error instanceof Error ? error.message : 'it rejected with a value that is not an Error'
    process.emitWarning(`The logger of logEvents failed: ${why}`, { code: 'COMPAT_ROUTER_LOGGER' })
  }
  const write = (level: Level, fields: object, message: string): void => {
    const result: unknown = logger[level](fields, message)
    if (result instanceof Promise) result.catch(fail)
  }
  return (event) => {
    if (event.type === 'request-start') return
    if (event.type === 'request-end') {
      write(levelOf(event), fieldsOf(event), `${event.operation} ${event.outcome}`)
      return
    }
    const { level, message } = INCIDENTS[event.type]
    const { type, ...fields } = event
    write(level, { event: type, ...forLog(fields) }, message)
  }
}

function levelOf({ outcome, status }: RequestEnd): Level {
  if (outcome === 'completed' || outcome === 'client-left') return 'info'
  // A stream may fail after its status 200.
  return status >= 500 || status === 200 ? 'error' : 'warn'
}

function fieldsOf(event: RequestEnd): object {
  const { caller, charge, facts, routing } = event
  return {
    event: event.type,
    requestId: event.requestId,
    operation: event.operation,
    outcome: event.outcome,
    status: event.status,
    durationMs: event.durationMs,
    ...caller,
    ...(facts !== undefined && {
      account: facts.account,
      credentialId: facts.credentialId,
      appId: facts.appId,
      sessionId: facts.sessionId,
      model: facts.model,
      provider: facts.provider,
      routeId: facts.routeId,
      completionId: facts.completionId,
      stream: event.stream,
    }),
    ...(routing !== undefined && { chosenBy: routing.chosenBy, attempts: routing.attempts }),
    providerMs: event.providerMs,
    firstTokenMs: event.firstTokenMs,
    finishReason: event.finishReason,
    upstreamId: event.upstreamId,
    outputLimit: event.outputLimit,
    clientRetry: event.clientRetry,
    replayed: event.replayed,
    holdId: event.holdId,
    ...(charge !== undefined && {
      cost: formatCredits(charge.cost),
      baseCost: formatCredits(charge.base),
      markupCost: formatCredits(charge.markup),
      basis: charge.basis,
      byok: charge.byok,
      usage: charge.usage,
    }),
    limitId: event.limit?.id,
    ...(event.overdraft !== undefined && { overdraft: formatCredits(event.overdraft) }),
  }
}

/** Prepares fields for a log, at any depth: amounts become decimals, and labels that clients choose are removed. */
function forLog(fields: object): object {
  // A limit of requests or tokens is counted in these units, not in credits.
  const countsCredits = !('unit' in fields) || fields.unit === 'credits'
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => name !== 'user' && name !== 'claimedAppId')
      .map(([name, value]) => [
        name,
        typeof value === 'bigint' && !countsCredits ? Number(value) : valueForLog(value),
      ]),
  )
}

function valueForLog(value: unknown): unknown {
  if (typeof value === 'bigint') return formatCredits(value)
  if (Array.isArray(value)) return value.map(valueForLog)
  return typeof value === 'object' && value !== null ? forLog(value) : value
}
