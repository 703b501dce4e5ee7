import type {
  HoldRequest,
  HoldResult,
  ReleaseRequest,
  SettleRequest,
  SettleResult,
} from '../../contracts/ledger.js'
import { eventError } from '../events/event-error.js'
import type { EngineOptions } from '../options.js'
import { unavailable } from '../stores.js'
import { LazyContext, within } from '../within.js'

const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

/** All that is asked of the ledger for calls: holds once, settlements and releases until they are through. */
export class Settlements {
  /** Holds that were taken here and have not yet ended in a settlement, in a release, or in giving either up. */
  openHolds = 0
  private underWay = 0
  private waiting: (() => void)[] = []

  constructor(private readonly options: EngineOptions) {}

  /** Asks for a hold, once. Where there is no answer the hold is released, since it may have been taken, and 503 thrown. */
  async hold(request: HoldRequest, requestId: string): Promise<HoldResult> {
    const { clock, ledger, limits } = this.options
    const context = new LazyContext(requestId)
    try {
      const result = await within(clock, limits.storeMs, ledger.hold(request, context))
      if (result?.ok === true && request.replaces === undefined) this.openHolds++
      return result
    } catch (error) {
      context.end()
      void this.free(request, requestId, 0)
      throw unavailable('ledger', this.options, requestId, error)
    }
  }

  /**
   * Posts a charge, again and again until it is through or `settleMs` is over; then `charge-failed` tells of it.
   *
   * @returns what the ledger answered, or undefined where it has not within `settleWaitMs`
   */
  settle(request: SettleRequest, requestId: string): Promise<SettleResult | undefined> {
    const posted = this.untilDone(
      requestId,
      (context) => this.post(request, requestId, context),
      (error) => this.options.emit({ type: 'charge-failed', requestId, request, error: eventError(error) }),
      1,
    )
    return this.waitFor(posted)
  }

  /** Asks for a settlement once. That the claim was lost is told even where nobody waits for the answer any more. */
  private async post(request: SettleRequest, requestId: string, context: LazyContext): Promise<SettleResult> {
    const { emit, ledger } = this.options
    const settled = await ledger.settle(request, context)
    if (settled.claimLost === true) emit({ type: 'claim-lost', requestId, holdId: request.holdId })
    return settled
  }

  /** Frees a hold, again and again until it is through; one that cannot be freed in time ends by its expiry. */
  release(request: ReleaseRequest, requestId: string): Promise<void> {
    return this.free(request, requestId, 1)
  }

  /** The same for a hold that may not have been taken, which was not counted. */
  private async free({ holdId, account }: ReleaseRequest, requestId: string, holds: 0 | 1): Promise<void> {
    const released = this.untilDone(
      requestId,
      (context) => this.options.ledger.release({ holdId, account }, context),
      (error) =>
        this.options.emit({ type: 'store-fault', store: 'ledger', requestId, error: eventError(error) }),
      holds,
    )
    await this.waitFor(released)
  }

  /** Settled when nothing is under way any more. */
  idle(): Promise<void> {
    return this.underWay === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve))
  }

  /** The answer if it comes while a reply can wait for it. */
  private async waitFor<T>(done: Promise<T | undefined>): Promise<T | undefined> {
    const { clock, limits } = this.options
    try {
      return await within(clock, limits.settleWaitMs, done)
    } catch {
      // Too late for the reply; `done` never rejects, and goes on.
      return undefined
    }
  }

  private async untilDone<T>(
    requestId: string,
    ask: (context: LazyContext) => Promise<T>,
    gaveUp: (error: unknown) => void,
    holds: 0 | 1,
  ): Promise<T | undefined> {
    const { clock, limits } = this.options
    const deadline = clock.now() + limits.settleMs
    this.underWay++
    try {
      for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
        const context = new LazyContext(requestId)
        try {
          return await within(clock, limits.storeMs, ask(context))
        } catch (error) {
          context.end()
          if (clock.now() + waitMs > deadline) {
            gaveUp(error)
            return undefined
          }
          await new Promise<void>((resolve) => clock.after(waitMs, resolve))
        }
      }
    } finally {
      this.openHolds -= holds
      this.underWay--
      if (this.underWay === 0) for (const resume of this.waiting.splice(0)) resume()
    }
  }
}
