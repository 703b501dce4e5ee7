import type { EngineOptions } from '../../contracts/engine-options.js'
import type { RouteRestored } from '../../contracts/events.js'
import type { Route } from '../../contracts/providers.js'
import type { RouteError, RouteFlaw, RouteHealth } from '../../contracts/route-health.js'
import { RefusalStreak } from './refusal-streak.js'

export interface CallResult {
  readonly ok: boolean
  /**
   * Whether the provider did not accept the call. Rate limits and broken replies do not count, since a caller can cause
   * them.
   */
  readonly isOutage?: boolean
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  readonly retryAfterSeconds?: number
}

/** Why a call failed on a route, unless the provider refused the request itself. */
export interface CallFailure extends Omit<RouteError, 'at'> {
  readonly requestId: string
  readonly model: string
  /** The fault that the provider finds with the host, whoever calls. */
  readonly flaw: RouteFlaw | undefined
}

/** Why a route is tried after the others. */
export type Trouble = 'breaker open' | 'probe under way' | 'misconfigured' | 'retry-after'

/** Why a route takes no call, and the time until its next probe. */
export interface Refusal {
  readonly why: Extract<Trouble, 'breaker open' | 'probe under way'>
  readonly waitMs: number
}

/** One call on one route. {@link RouteHealthBook.begin} creates it, and {@link RouteHealthBook.end} must end it. */
export interface RouteVisit {
  readonly state: State
  readonly route: Route
  readonly account: string
  readonly beganAt: number
  /** How often the breaker had opened when the call started. */
  readonly openings: number
  /** Whether this call decides if an open route closes. */
  readonly isProbe: boolean
  /** The route's refusals when the call started. */
  readonly streak: RefusalStreak | undefined
  /** Whether this call is tried first on a misconfigured route, to see whether it still is one. */
  readonly probesStreak: boolean
}

interface State {
  readonly provider: string
  /** The route as the latest call found it. */
  route: Route
  wasCalled: boolean
  firstTokenMs: number | undefined
  tokensPerSecond: number | undefined
  measuredAt: number
  failureRate: number
  calls: number
  failuresInARow: number
  /** The outages since the last success. */
  outagesInARow: number
  /** The account of the first of these outages. */
  outagesOf: string | undefined
  /** Whether calls of another account failed too. */
  hasSeveralAccounts: boolean
  /** When the last successful call started. */
  succeededAt: number
  /** How often the breaker has opened. */
  openings: number
  /** When the next probe may start. Undefined while the breaker is closed. */
  nextProbeAt: number | undefined
  /** The time between two probes while the breaker is open. */
  intervalMs: number
  probe: RouteVisit | undefined
  notBefore: number
  streak: RefusalStreak | undefined
  lastError: RouteError | undefined
}

const WEIGHT_OF_LATEST = 0.2
const FAILURES_IN_A_ROW = 3
const FAILURE_RATE = 0.5
const FEWEST_CALLS = 10
/**
 * A route that answers some of its calls is better than none. After this many outages in a row, it counts as answering
 * none.
 */
const OUTAGES_OF_A_DEAD_ROUTE = 10
/** If no call that started within this time has succeeded, {@link FAILURES_IN_A_ROW} outages are enough. */
const SUCCESS_COUNTS_FOR_MS = 5_000
const FIRST_INTERVAL_MS = 5_000
const LONGEST_INTERVAL_MS = 60_000
/** A longer retry-after is shortened to this. */
const LONGEST_RETRY_AFTER_MS = 600_000
/** Older measurements say nothing about a route now. */
const MEASURED_FOR_MS = 600_000

const FLAWS: Readonly<Record<RouteFlaw, (route: Route) => string>> = {
  key: () => 'The provider refuses the key of this route.',
  credit: () => 'The provider refuses calls until the account of this route has credit again.',
  model: ({ upstreamModel }) =>
    `The provider does not know the model "${upstreamModel}", or not with this key.`,
}

/**
 * For each route: moving averages of latency, throughput and failure, and a circuit breaker. An open breaker moves its
 * route behind the others. If the route has stopped answering, the breaker also refuses calls, except for one probe per
 * interval. A route whose provider refuses the host's key, account or model is misconfigured: it is tried last, but
 * never refuses a call.
 */
export class RouteHealthBook {
  private readonly states = new Map<string, State>()
  private readonly misconfigured = new Set<State>()

  constructor(private readonly options: Pick<EngineOptions, 'clock' | 'emit' | 'wallClock'>) {}

  /** Ends the misconfiguration of a model's routes whose settings have changed, or that are disabled or gone. */
  noticeChanges(model: string, routes: readonly Route[]): void {
    if (this.misconfigured.size === 0) return
    for (const state of this.misconfigured) {
      const { streak } = state
      if (streak?.model !== model) continue
      const now = routes.find(({ id }) => id === streak.route.id)
      if (now === undefined || now.enabled === false || !hasSameSettings(now, streak.route)) {
        this.endStreak(state, 'the route was changed')
      }
    }
  }

  /** Returns why a route should be tried after the others. Undefined if it should not. */
  troubleOf(route: Route): Trouble | undefined {
    const state = this.states.get(route.id)
    if (state === undefined) return undefined
    const { nextProbeAt, notBefore, streak } = state
    if (nextProbeAt === undefined && notBefore === 0 && streak === undefined) return undefined
    const now = this.options.clock.now()
    if (streak?.isTriedLast(now)) return 'misconfigured'
    if (state.nextProbeAt !== undefined && now < state.nextProbeAt) return openingOf(state)
    return now < state.notBefore ? 'retry-after' : undefined
  }

  /**
   * Returns why a route refuses a call of this account now. Undefined if it accepts the call. Outages caused by a
   * single account close the route to that account only.
   */
  refusal(route: Route, account: string): Refusal | undefined {
    const state = this.states.get(route.id)
    if (state?.nextProbeAt === undefined) return undefined
    if (!state.hasSeveralAccounts && state.outagesOf !== account) return undefined
    const now = this.options.clock.now()
    const hasSucceeded = now < state.succeededAt + SUCCESS_COUNTS_FOR_MS
    if (state.outagesInARow < (hasSucceeded ? OUTAGES_OF_A_DEAD_ROUTE : FAILURES_IN_A_ROW)) return undefined
    const waitMs = state.nextProbeAt - now
    return waitMs > 0 ? { why: openingOf(state), waitMs } : undefined
  }

  /** Returns undefined if there is no recent measurement. */
  average(route: Route, what: 'firstTokenMs' | 'tokensPerSecond'): number | undefined {
    const state = this.states.get(route.id)
    return state === undefined || this.options.clock.now() > state.measuredAt + MEASURED_FOR_MS
      ? undefined
      : state[what]
  }

  /**
   * Records the start of a call. If a probe of the route is due, the call becomes that probe. Every visit must {@link
   * end}.
   */
  begin(route: Route, account: string): RouteVisit {
    const state = this.state(route)
    const { nextProbeAt, openings } = state
    const beganAt = this.options.clock.now()
    const isProbe = nextProbeAt !== undefined && beganAt >= nextProbeAt
    const { streak } = state
    const probesStreak = streak?.beginProbe(beganAt) === true
    const visit: RouteVisit = { state, route, account, beganAt, openings, isProbe, streak, probesStreak }
    state.route = route
    if (isProbe) {
      state.probe = visit
      // A probe may take as long as any call, so the next one does not wait for it.
      state.nextProbeAt = beganAt + state.intervalMs
    }
    return visit
  }

  /** Records the first token of a call. This closes the breaker if the call is a probe, whose reply may take minutes. */
  answered(visit: RouteVisit): void {
    if (visit.state.streak !== undefined) this.accept(visit)
    if (visit.isProbe && visit.openings === visit.state.openings) this.succeed(visit)
  }

  /** Records that a call did not reach the route after all. If it was a probe, another may start. */
  giveBack(visit: RouteVisit): void {
    if (visit.probesStreak) visit.streak?.giveProbeBack(this.options.clock.now())
    this.giveProbeBack(visit)
  }

  /**
   * Records the end of a call with its failure, if any, and its result, unless that says nothing about the route. After
   * a probe without a result, another may start.
   */
  end(visit: RouteVisit, result: CallResult | undefined, failure?: CallFailure): void {
    const { state } = visit
    state.wasCalled = true
    if (failure !== undefined) {
      const { outcome, why } = failure
      state.lastError = { at: this.options.wallClock.now(), outcome, why }
    }
    if (failure?.flaw !== undefined) {
      this.refuse(visit, failure, failure.flaw)
      if (result === undefined) {
        this.measure(state, { ok: false })
        this.giveProbeBack(visit)
        return
      }
    } else if (state.streak !== undefined) {
      if (result?.ok === true) this.accept(visit)
      else state.streak.interrupt(this.options.clock.now())
    }
    if (result === undefined) {
      this.giveBack(visit)
      return
    }
    this.measure(state, result)
    // A call that started before the breaker opened neither opens nor closes it.
    if (visit.openings === state.openings) this.judge(visit, result)
  }

  /** Returns the routes that were called so far. */
  snapshot(): readonly RouteHealth[] {
    const now = this.options.clock.now()
    const told = [...this.states].filter(([, state]) => state.wasCalled)
    return told.map(([routeId, state]) => ({
      routeId,
      provider: state.provider,
      state: stateOf(state, now),
      ...(state.streak?.misconfiguredAt !== undefined && { flaw: state.streak.flaw }),
      ...(state.lastError !== undefined && { lastError: state.lastError }),
      ...(state.firstTokenMs !== undefined && { firstTokenMs: state.firstTokenMs }),
      ...(state.tokensPerSecond !== undefined && { tokensPerSecond: state.tokensPerSecond }),
      failureRate: state.failureRate,
    }))
  }

  /** Records that a provider refused the host's key, account or model. */
  private refuse(visit: RouteVisit, { model, requestId, why }: CallFailure, flaw: RouteFlaw): void {
    const { account, probesStreak, route, state } = visit
    // Calls that started before the route was edited say nothing about its new settings.
    if (!hasSameSettings(route, state.route)) return
    const now = this.options.clock.now()
    if (state.streak !== undefined && !hasSameSettings(route, state.streak.route)) {
      this.endStreak(state, 'the route was changed')
    }
    if (state.streak === undefined) {
      state.streak = new RefusalStreak(route, model, flaw, account, now)
      return
    }
    if (!state.streak.refuse(account, flaw, probesStreak, now)) return
    this.misconfigured.add(state)
    this.options.emit({
      type: 'route-misconfigured',
      requestId,
      routeId: route.id,
      provider: route.provider,
      model,
      flaw,
      why: `${FLAWS[flaw](route)} ${why}`,
    })
  }

  /** Records a success, or its first token. */
  private accept({ state, streak }: RouteVisit): void {
    // A call that started before the refusals may have been accepted before the key was revoked.
    if (this.misconfigured.has(state) && streak !== state.streak) return
    this.endStreak(state, 'a call succeeded')
  }

  private endStreak(state: State, why: RouteRestored['why']): void {
    const { streak } = state
    state.streak = undefined
    if (why === 'the route was changed') this.close(state)
    if (!this.misconfigured.delete(state) || streak?.misconfiguredAt === undefined) return
    this.options.emit({
      type: 'route-restored',
      routeId: streak.route.id,
      provider: streak.route.provider,
      model: streak.model,
      why,
      afterMs: this.options.clock.now() - streak.misconfiguredAt,
    })
  }

  private giveProbeBack(visit: RouteVisit): void {
    const { state } = visit
    if (state.probe !== visit) return
    state.probe = undefined
    state.nextProbeAt = this.options.clock.now()
  }

  private measure(state: State, result: CallResult): void {
    const now = this.options.clock.now()
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
    // Only its probe decides about an open breaker, so a burst of failures opens it once.
    if (isClosed ? !failing : !visit.isProbe) return
    state.openings++
    state.intervalMs = isClosed ? FIRST_INTERVAL_MS : Math.min(state.intervalMs * 2, LONGEST_INTERVAL_MS)
    state.nextProbeAt = this.options.clock.now() + state.intervalMs
    state.probe = undefined
  }

  private succeed({ beganAt, state }: RouteVisit): void {
    state.succeededAt = Math.max(state.succeededAt, beganAt)
    this.close(state)
  }

  private close(state: State): void {
    state.failuresInARow = 0
    state.outagesInARow = 0
    state.outagesOf = undefined
    state.hasSeveralAccounts = false
    state.nextProbeAt = undefined
    state.probe = undefined
  }

  private state(route: Route): State {
    let state = this.states.get(route.id)
    if (state === undefined) {
      state = {
        provider: route.provider,
        route,
        wasCalled: false,
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
        streak: undefined,
        lastError: undefined,
      }
      this.states.set(route.id, state)
    }
    return state
  }
}

function openingOf({ probe }: State): Refusal['why'] {
  return probe === undefined ? 'breaker open' : 'probe under way'
}

function stateOf({ nextProbeAt, probe, streak }: State, now: number): RouteHealth['state'] {
  if (streak?.misconfiguredAt !== undefined) return 'misconfigured'
  if (nextProbeAt === undefined) return 'closed'
  return now >= nextProbeAt || probe !== undefined ? 'half-open' : 'open'
}

/** Whether two readings of a route agree in everything that a provider may refuse. */
function hasSameSettings(one: Route, other: Route): boolean {
  if (one === other) return true
  return (
    one.adapter === other.adapter &&
    one.provider === other.provider &&
    one.upstreamModel === other.upstreamModel &&
    one.secret?.reveal() === other.secret?.reveal()
  )
}

function movingAverage<Average extends number | undefined>(
  average: Average,
  latest: number | undefined,
): Average | number {
  if (latest === undefined) return average
  return average === undefined ? latest : average + WEIGHT_OF_LATEST * (latest - average)
}
