import type { Clock } from '../../base/clock.js'
import type { Route } from '../../contracts/providers.js'
import type { RouteHealth } from '../../contracts/route-health.js'

export interface CallResult {
  readonly ok: boolean
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  readonly retryAfterSeconds?: number
}

/** Why a route is tried after the others. */
export type Trouble = 'breaker open' | 'probe under way' | 'retry-after'

interface State {
  readonly provider: string
  firstTokenMs: number | undefined
  tokensPerSecond: number | undefined
  measuredAt: number
  failureRate: number
  calls: number
  consecutiveFailures: number
  /** How often the breaker has opened. */
  openings: number
  /** When a probe may try; undefined while the breaker is closed. */
  openUntil: number | undefined
  cooldownMs: number
  probing: boolean
  notBefore: number
}

const WEIGHT_OF_LATEST = 0.2
const FAILURES_IN_A_ROW = 3
const FAILURE_RATE = 0.5
const FEWEST_CALLS = 10
const FIRST_COOLDOWN_MS = 5_000
const LONGEST_COOLDOWN_MS = 60_000
/** A provider cannot send itself to the back for longer. */
const LONGEST_RETRY_AFTER_MS = 600_000
/** Older measurements say nothing about a route now. */
const MEASURED_FOR_MS = 600_000

/** Per route: moving averages of latency, throughput and failure, and a circuit breaker with half-open probes. */
export class RouteHealthBook {
  private readonly states = new Map<string, State>()

  constructor(private readonly clock: Clock) {}

  /** Returns why a route should be tried after others, otherwise undefined. It is moved behind them, never left out. */
  troubleOf(route: Route): Trouble | undefined {
    const state = this.states.get(route.id)
    if (state === undefined || (state.openUntil === undefined && state.notBefore === 0)) return undefined
    const now = this.clock.now()
    if (state.openUntil !== undefined) {
      if (now < state.openUntil) return 'breaker open'
      if (state.probing) return 'probe under way'
    }
    return now < state.notBefore ? 'retry-after' : undefined
  }

  /** Returns undefined if there is no recent measurement. */
  average(route: Route, what: 'firstTokenMs' | 'tokensPerSecond'): number | undefined {
    const state = this.states.get(route.id)
    return state === undefined || this.clock.now() > state.measuredAt + MEASURED_FOR_MS
      ? undefined
      : state[what]
  }

  /**
   * Records the beginning of a call; on a half-open route the first call is the probe. Returns a function to call once with
   * the result, or with undefined if the call says nothing about the route.
   */
  begin(route: Route): (result: CallResult | undefined) => void {
    const state = this.state(route)
    const { openings, openUntil, probing } = state
    const probe = openUntil !== undefined && this.clock.now() >= openUntil && !probing
    if (probe) state.probing = true
    return (result) => {
      if (probe) state.probing = false
      if (result === undefined) return
      this.measure(state, result)
      // A call that began before the breaker opened adds nothing to it.
      if (openings === state.openings) this.judge(state, result.ok, probe)
    }
  }

  /** The routes with at least one result. */
  snapshot(): readonly RouteHealth[] {
    const now = this.clock.now()
    const told = [...this.states].filter(([, state]) => state.calls > 0)
    return told.map(([routeId, state]) => ({
      routeId,
      provider: state.provider,
      state: state.openUntil === undefined ? 'closed' : now >= state.openUntil ? 'half-open' : 'open',
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

  private judge(state: State, ok: boolean, probe: boolean): void {
    if (ok) {
      state.consecutiveFailures = 0
      state.openUntil = undefined
      state.cooldownMs = FIRST_COOLDOWN_MS
      return
    }
    state.consecutiveFailures++
    const failing =
      state.consecutiveFailures >= FAILURES_IN_A_ROW ||
      (state.calls >= FEWEST_CALLS && state.failureRate >= FAILURE_RATE)
    // An open breaker is kept open by its probe alone, so that a burst of failures opens it once.
    if (state.openUntil === undefined ? !failing : !probe) return
    state.openings++
    state.openUntil = this.clock.now() + state.cooldownMs
    state.cooldownMs = Math.min(state.cooldownMs * 2, LONGEST_COOLDOWN_MS)
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
        consecutiveFailures: 0,
        openings: 0,
        openUntil: undefined,
        cooldownMs: FIRST_COOLDOWN_MS,
        probing: false,
        notBefore: 0,
      }
      this.states.set(route.id, state)
    }
    return state
  }
}

function movingAverage<Average extends number | undefined>(
  average: Average,
  latest: number | undefined,
): Average | number {
  if (latest === undefined) return average
  return average === undefined ? latest : average + WEIGHT_OF_LATEST * (latest - average)
}
