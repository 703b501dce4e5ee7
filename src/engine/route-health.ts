import type { Clock } from '../clock.js'
import type { Route } from '../contracts/providers.js'

/** How a route has been doing, as a host sees it. */
export interface RouteHealth {
  readonly routeId: string
  readonly provider: string
  /** `open`: it failed and is tried last; `half-open`: the next call tells. */
  readonly state: 'closed' | 'half-open' | 'open'
  /** Moving averages; absent before the first call. */
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  /** From 0 to 1. */
  readonly failureRate: number
}

export interface CallResult {
  readonly ok: boolean
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  readonly retryAfterSeconds?: number
}

interface State {
  readonly provider: string
  firstTokenMs: number | undefined
  tokensPerSecond: number | undefined
  failureRate: number
  calls: number
  consecutiveFailures: number
  openUntil: number
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

/** Per route: moving averages of latency, throughput and failure, and a circuit breaker with half-open probes. */
export class RouteHealthBook {
  private readonly states = new Map<string, State>()

  constructor(private readonly clock: Clock) {}

  /** Whether a route should be tried before others. An unhealthy one is only moved behind them. */
  isHealthy(route: Route): boolean {
    const state = this.states.get(route.id)
    if (state === undefined) return true
    const now = this.clock.now()
    if (now < state.notBefore) return false
    if (state.openUntil === 0) return true
    return now >= state.openUntil && !state.probing
  }

  average(route: Route, what: 'firstTokenMs' | 'tokensPerSecond'): number | undefined {
    return this.states.get(route.id)?.[what]
  }

  /** A call to the route begins; on a half-open route it is the probe. Returns what takes its result, undefined for none. */
  begin(route: Route): (result: CallResult | undefined) => void {
    const state = this.state(route)
    const probe = state.openUntil !== 0 && this.clock.now() >= state.openUntil && !state.probing
    if (probe) state.probing = true
    return (result) => {
      if (probe) state.probing = false
      if (result !== undefined) this.record(state, result, probe)
    }
  }

  snapshot(): readonly RouteHealth[] {
    const now = this.clock.now()
    return [...this.states].map(([routeId, state]) => ({
      routeId,
      provider: state.provider,
      state: state.openUntil === 0 ? 'closed' : now >= state.openUntil ? 'half-open' : 'open',
      ...(state.firstTokenMs !== undefined && { firstTokenMs: state.firstTokenMs }),
      ...(state.tokensPerSecond !== undefined && { tokensPerSecond: state.tokensPerSecond }),
      failureRate: state.failureRate,
    }))
  }

  private record(state: State, result: CallResult, probe: boolean): void {
    state.calls++
    state.failureRate = moved(state.failureRate, result.ok ? 0 : 1)
    state.firstTokenMs = moved(state.firstTokenMs, result.firstTokenMs)
    state.tokensPerSecond = moved(state.tokensPerSecond, result.tokensPerSecond)
    const now = this.clock.now()
    if (result.retryAfterSeconds !== undefined) state.notBefore = now + result.retryAfterSeconds * 1_000
    if (result.ok) {
      state.consecutiveFailures = 0
      state.openUntil = 0
      state.cooldownMs = FIRST_COOLDOWN_MS
      return
    }
    state.consecutiveFailures++
    const failing =
      state.consecutiveFailures >= FAILURES_IN_A_ROW ||
      (state.calls >= FEWEST_CALLS && state.failureRate >= FAILURE_RATE)
    if (!failing && !probe) return
    state.openUntil = now + state.cooldownMs
    state.cooldownMs = Math.min(state.cooldownMs * 2, LONGEST_COOLDOWN_MS)
  }

  private state(route: Route): State {
    let state = this.states.get(route.id)
    if (state === undefined) {
      state = {
        provider: route.provider,
        firstTokenMs: undefined,
        tokensPerSecond: undefined,
        failureRate: 0,
        calls: 0,
        consecutiveFailures: 0,
        openUntil: 0,
        cooldownMs: FIRST_COOLDOWN_MS,
        probing: false,
        notBefore: 0,
      }
      this.states.set(route.id, state)
    }
    return state
  }
}

function moved<Average extends number | undefined>(
  average: Average,
  latest: number | undefined,
): Average | number {
  if (latest === undefined) return average
  return average === undefined ? latest : average + WEIGHT_OF_LATEST * (latest - average)
}
