import type { RequestEnd, RouterEvent } from './contracts/events.js'
import { requireMethods } from './contracts/option-checks.js'
import { formatCredits } from './money.js'

/** As much of a logger as is written to; pino's and those shaped like it have it. */
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
  'body-consumed': { level: 'error', message: 'another middleware had read the request body' },
  fault: { level: 'error', message: 'something that should not happen' },
  'hold-expired': { level: 'warn', message: 'a hold expired without a settlement' },
  'claim-lost': { level: 'warn', message: 'a charge was posted without its claim' },
  'usage-implausible': { level: 'warn', message: 'a provider reported what is no token count' },
  'route-disabled': { level: 'warn', message: 'a route cannot be used' },
  'request-trimmed': { level: 'info', message: 'a request held members that are not passed on' },
  'call-abandoned': { level: 'info', message: 'a client left before the first token' },
}

/**
 * Makes an `onEvent` that writes one line for each request, and one for whatever else happens.
 *
 * A request is `info` where it was completed or its client left, `error` where this service or a provider failed it, and
 * `warn` where it was refused. Credits are decimal strings. No line has a prompt, a reply, a credential, or what a client
 * sent as `user`, `action` or `connected`. What the logger throws is thrown; the router swallows it. Of a logger whose
 * methods return promises, the first rejection is a process warning. Throws a `TypeError` for what is no logger.
 */
export function logEvents(logger: EventLogger): (event: RouterEvent) => void {
  requireMethods('logEvents: logger', logger, ['info', 'warn', 'error'])
  let failed = false
  const fail = (error: unknown): void => {
    if (failed) return
    failed = true
    const why = error instanceof Error ? error.message : 'what it rejected with is no Error'
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
  // A stream may fail after its 200.
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
    ...(event.overdraft !== undefined && { overdraft: formatCredits(event.overdraft) }),
  }
}

/** The same fit for a log, at any depth: amounts as decimals, and without the labels that clients make up. */
function forLog(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => name !== 'user' && name !== 'claimedAppId')
      .map(([name, value]) => [name, valueForLog(value)]),
  )
}

function valueForLog(value: unknown): unknown {
  if (typeof value === 'bigint') return formatCredits(value)
  if (Array.isArray(value)) return value.map(valueForLog)
  return typeof value === 'object' && value !== null ? forLog(value) : value
}
