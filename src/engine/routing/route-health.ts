import type { Clock } from '../../base/clock.js'
import type { Route } from '../../contracts/providers.js'
import type { RouteHealth } from '../../contracts/route-health.js'

export interface CallResult {
  readonly ok: boolean
  /** The provider did not take the call. Rate limits and broken replies are no outages: a caller can cause them. */
  readonly isOutage?: boolean
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  readonly retryAfterSeconds?: number
}

/** Why a route is tried after the others. */
export type Trouble = 'breaker open' | 'probe under way' | 'retry-after'

/** Why a route takes no call, and the time until its next probe. */
export interface Refusal {
  readonly why: Exclude<Trouble, 'retry-after'>
  readonly waitMs: number
}

/** One call on one route. Begins and ends in the {@link RouteHealthBook}. */
export interface RouteVisit {
  readonly state: State
  readonly account: string
  readonly beganAt: number
  /** How often the breaker had opened by then. */
  readonly openings: number
  /** Whether this call decides if an open route closes. */
  readonly isProbe: boolean
}

interface State {
  readonly provider: string
  firstTokenMs: number | undefined
  tokensPerSecond: number | undefined
  measuredAt: number
  failureRate: number
  calls: number
  failuresInARow: number
  /** The outages since the last success. */
  outagesInARow: number
  /** The account of the first of them. */
  outagesOf: string | undefined
  /** Whether another account had one of them too. */
  hasSeveralAccounts: boolean
  /** When the last call to succeed began. */
  succeededAt: number
  /** How often the breaker has opened. */
  openings: number
  /** When the next probe may begin; undefined while the breaker is closed. */
  nextProbeAt: number | undefined
  /** The time between two probes while the breaker is open. */
  intervalMs: number
  probe: RouteVisit | undefined
  notBefore: number
}

const WEIGHT_OF_LATEST = 0.2
const FAILURES_IN_A_ROW = 3
const FAILURE_RATE = 0.5
const FEWEST_CALLS = 10
/** A route that answers some of its calls is better than none. So many outages in a row are no chance. */
const OUTAGES_OF_A_DEAD_ROUTE = 10
/** If no call that began within this time has succeeded, {@link FAILURES_IN_A_ROW} outages suffice. */
const SUCCESS_COUNTS_FOR_MS = 5_000
const FIRST_INTERVAL_MS = 5_000
const LONGEST_INTERVAL_MS = 60_000
/** A provider cannot send itself to the back for longer. */
const LONGEST_RETRY_AFTER_MS = 600_000
/** Older measurements say nothing about a route now. */
const MEASURED_FOR_MS = 600_000

/**
 * Per route: moving averages of latency, throughput and failure, and a circuit breaker. An open breaker moves its route
 * behind the others. If the route has stopped answering, the breaker also refuses calls, except one probe per interval.
 */
export class RouteHealthBook {
  private readonly states = new Map<string, State>()

  constructor(private readonly clock: Clock) {}

  /** Returns why a route should be tried after others, otherwise undefined. */
  troubleOf(route: Route): Trouble | undefined {
    const state = this.states.get(route.id)
    if (state === undefined || (state.nextProbeAt === undefined && state.notBefore === 0)) return undefined
    const now = this.clock.now()
    if (state.nextProbeAt !== undefined && now < state.nextProbeAt) return openingOf(state)
    return now < state.notBefore ? 'retry-after' : undefined
  }

  /**
   * Returns why a route takes no call of an account now, otherwise undefined. Outages of a single account's calls, which it
   * may have caused, close the route to that account alone.
   */
  refusal(route: Route, account: string): Refusal | undefined {
    const state = this.states.get(route.id)
    if (state?.nextProbeAt === undefined) return undefined
    if (!state.hasSeveralAccounts && state.outagesOf !== account) return undefined
    const now = this.clock.now()
    const hasSucceeded = now < state.succeededAt + SUCCESS_COUNTS_FOR_MS
    if (state.outagesInARow < (hasSucceeded ? OUTAGES_OF_A_DEAD_ROUTE : FAILURES_IN_A_ROW)) return undefined
    const waitMs = state.nextProbeAt - now
    return waitMs > 0 ? { why: openingOf(state), waitMs } : undefined
  }

  /** Returns undefined if there is no recent measurement. */
  average(route: Route, what: 'firstTokenMs' | 'tokensPerSecond'): number | undefined {
    const state = this.states.get(route.id)
    return state === undefined || this.clock.now() > state.measuredAt + MEASURED_FOR_MS
      ? undefined
      : state[what]
  }

  /** Records the beginning of a call. If a probe of the route is due, the call is that probe. Each visit must {@link end}. */
  begin(route: Route, account: string): RouteVisit {
    const state = this.state(route)
    const { nextProbeAt, openings } = state
    const beganAt = this.clock.now()
    const isProbe = nextProbeAt !== undefined && beganAt >= nextProbeAt
    const visit: RouteVisit = { state, account, beganAt, openings, isProbe }
    if (isProbe) {
      state.probe = visit
      // A probe may take as long as any call. The next one does not wait for it.
      state.nextProbeAt = beganAt + state.intervalMs
    }
    return visit
  }

  /** Records the first token of a call. It closes the route if the call is a probe, whose reply may take minutes. */
  answered(visit: RouteVisit): void {
    if (visit.isProbe && visit.openings === visit.state.openings) this.succeed(visit)
  }

  /** Records the end of a call, with undefined if it says nothing about the route. After such a probe, another may begin. */
  end(visit: RouteVisit, result: CallResult | undefined): void {
    const { state } = visit
    if (result !== undefined) {
      this.measure(state, result)
      // A call that began before the breaker opened neither opens nor closes it.
      if (visit.openings === state.openings) this.judge(visit, result)
    } else if (state.probe === visit) {
      state.probe = undefined
      state.nextProbeAt = this.clock.now()
    }
  }

  /** The routes with at least one result. */
  snapshot(): readonly RouteHealth[] {
    const now = this.clock.now()
    const told = [...this.states].filter(([, state]) => state.calls > 0)
    return told.map(([routeId, state]) => ({
      routeId,
      provider: state.provider,
      state: stateOf(state, now),
      ...(state.firstTokenMs !== undefined && { firstTokenMs: state.firstTokenMs }),
      ...(state.tokensPerSecond !== undefined && { tokensPerSecond: state.tokensPerSecond }),
      failureRate: state.failureRate,
    }))
  }

  private measure(state: State, result: CallResult): void {
    const now = this.clock.now()
    const { firstTokenMs, ok, retryAfterSeconds = 0, tokensPerSecond } = result
    state.calls++
    state.failureRate = movingAverage(state.failureRate, ok ? 0 : 1)
    if (firstTokenMs !== undefined || tokensPerSecond !== undefined) {
      const stale = now > state.measuredAt + MEASURED_FOR_MS
      state.firstTokenMs = movingAverage(stale ? undefined : state.firstTokenMs, firstTokenMs)
      state.tokensPerSecond = movingAverage(stale ? undefined : state.tokensPerSecond, tokensPerSecond)
      state.measuredAt = now
    }
    if (retryAfterSeconds > 0) {
      const waitMs = Math.min(retryAfterSeconds * 1_000, LONGEST_RETRY_AFTER_MS)
      state.notBefore = Math.max(state.notBefore, now + waitMs)
    }
  }

  private judge(visit: RouteVisit, { ok, isOutage }: CallResult): void {
    if (ok) {
      this.succeed(visit)
      return
    }
    const { state } = visit
    state.failuresInARow++
    if (isOutage === true) {
      if (state.outagesInARow === 0) state.outagesOf = visit.account
      else if (state.outagesOf !== visit.account) state.hasSeveralAccounts = true
      state.outagesInARow++
    }
    const failing =
      state.failuresInARow >= FAILURES_IN_A_ROW ||
      (state.calls >= FEWEST_CALLS && state.failureRate >= FAILURE_RATE)
    const isClosed = state.nextProbeAt === undefined
    // An open breaker is kept open by its probe alone, so that a burst of failures opens it once.
    if (isClosed ? !failing : !visit.isProbe) return
    state.openings++
    state.intervalMs = isClosed ? FIRST_INTERVAL_MS : Math.min(state.intervalMs * 2, LONGEST_INTERVAL_MS)
    state.nextProbeAt = this.clock.now() + state.intervalMs
    state.probe = undefined
  }

  private succeed({ beganAt, state }: RouteVisit): void {
    state.failuresInARow = 0
    state.outagesInARow = 0
    state.outagesOf = undefined
    state.hasSeveralAccounts = false
    state.succeededAt = Math.max(state.succeededAt, beganAt)
    state.nextProbeAt = undefined
    state.probe = undefined
  }

  private state(route: Route): State {
    let state = this.states.get(route.id)
    if (state === undefined) {
      state = {
        provider: route.provider,
        firstTokenMs: undefined,
        tokensPerSecond: undefined,
        measuredAt: -Infinity,
        failureRate: 0,
        calls: 0,
        failuresInARow: 0,
        outagesInARow: 0,
        outagesOf: undefined,
        hasSeveralAccounts: false,
        succeededAt: -Infinity,
        openings: 0,
        nextProbeAt: undefined,
        intervalMs: FIRST_INTERVAL_MS,
        probe: undefined,
        notBefore: 0,
      }
      this.states.set(route.id, state)
    }
    return state
  }
}

function openingOf({ probe }: State): Refusal['why'] {
  return probe === undefined ? 'breaker open' : 'probe under way'
}

function stateOf({ nextProbeAt, probe }: State, now: number): RouteHealth['state'] {
  if (nextProbeAt === undefined) return 'closed'
  return now >= nextProbeAt || probe !== undefined ? 'half-open' : 'open'
}

function movingAverage<Average extends number | undefined>(
  average: Average,
  latest: number | undefined,
): Average | number {
  if (latest === undefined) return average
  return average === undefined ? latest : average + WEIGHT_OF_LATEST * (latest - average)
}
