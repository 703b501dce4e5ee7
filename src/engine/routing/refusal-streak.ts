import type { Route } from '../../contracts/providers.js'
import type { RouteFlaw } from '../../contracts/route-health.js'

const ONE_ACCOUNT_MS = 600_000
const FIRST_INTERVAL_MS = 30_000
const LONGEST_INTERVAL_MS = 600_000

/**
 * The calls of one route since its provider first refused the host's key, account or model, up to the next success. A
 * single account could cause such refusals, so the route counts as misconfigured only after two accounts in a row, or
 * after ten minutes in which no call ended in another way. From then on it is tried last, except for one call per
 * interval.
 */
export class RefusalStreak {
  /** When the route became misconfigured. */
  misconfiguredAt: number | undefined
  private refusedSince: number
  private nextProbeAt = 0
  private intervalMs = FIRST_INTERVAL_MS

  constructor(
    /** The route with the settings that were refused. */
    readonly route: Route,
    readonly model: string,
    public flaw: RouteFlaw,
    private account: string,
    now: number,
  ) {
    this.refusedSince = now
  }

  /** Records another refusal. Returns whether the route is misconfigured from now on. */
  refuse(account: string, flaw: RouteFlaw, isProbe: boolean, now: number): boolean {
    this.flaw = flaw
    if (this.misconfiguredAt !== undefined) {
      if (isProbe) this.intervalMs = Math.min(this.intervalMs * 2, LONGEST_INTERVAL_MS)
      if (isProbe) this.nextProbeAt = now + this.intervalMs
      return false
    }
    const isAnother = account !== this.account
    this.account = account
    if (!isAnother && now < this.refusedSince + ONE_ACCOUNT_MS) return false
    this.misconfiguredAt = now
    this.nextProbeAt = now + this.intervalMs
    return true
  }

  /** Records a call that ended in another way, but without success. */
  interrupt(now: number): void {
    this.refusedSince = now
  }

  isTriedLast(now: number): boolean {
    return this.misconfiguredAt !== undefined && now < this.nextProbeAt
  }

  /** Returns whether a call that starts now is a probe. The next probe does not wait for its end. */
  beginProbe(now: number): boolean {
    if (this.misconfiguredAt === undefined || now < this.nextProbeAt) return false
    this.nextProbeAt = now + this.intervalMs
    return true
  }

  /** Called if a probe said nothing about the route, so that the next call is another probe. */
  giveProbeBack(now: number): void {
    this.nextProbeAt = now
  }
}
