import type { CompatError } from '../../base/errors.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type {
  CallFacts,
  Charge,
  HoldRequest,
  HoldResult,
  ReleaseRequest,
  SettleRequest,
  SettleResult,
} from '../../contracts/ledger.js'
import type { LedgerCall, LedgerCallQuery, LedgerLookUps } from '../../contracts/look-ups.js'
import { LazyContext } from '../asking/lazy-context.js'
import { askStore } from '../asking/stores.js'
import { isPromise, within } from '../asking/within.js'
import { eventError } from '../events/event-error.js'
import { reportUnavailable } from '../failures/store-failures.js'
import { ChargeRequest } from './charge-request.js'
import { type LedgerRequest, LedgerRetry } from './ledger-retry.js'

/** A call whose charge the ledger has not confirmed yet, or a call as the ledger knows it. */
export type FoundCall =
  | { readonly state: 'settling'; readonly charge: Charge; readonly facts: CallFacts }
  | LedgerCall

/** Everything that calls ask of the ledger. Holds are tried once, settlements and releases until they succeed. */
export class LedgerClient {
  /** Holds taken here that are neither settled, released nor given up yet. */
  openHolds = 0
  /** The settlements that the ledger has not confirmed, by their holds. */
  private readonly settling = new Map<string, SettleRequest>()
  private underWay = 0
  private waiting: (() => void)[] = []

  constructor(private readonly options: EngineOptions) {}

  /**
   * Asks for a hold, once. If there is no answer, releases the hold, since it may have been taken, and returns a 503.
   * Call {@link holdTaken} for a granted hold.
   */
  hold(request: HoldRequest, requestId: string): Awaitable<HoldResult> {
    const { clock, ledger, timeouts } = this.options
    const context = new LazyContext(requestId)
    const failed = (error: unknown): CompatError => {
      context.end()
      void this.free(request, requestId, this.ended)
      return reportUnavailable('ledger', this.options, requestId, error)
    }
    let answer: Awaitable<HoldResult>
    try {
      answer = ledger.hold(request, context)
    } catch (error) {
      throw failed(error)
    }
    return within(clock, timeouts.storeMs, answer, failed)
  }

  /** Counts the first hold of a call. */
  holdTaken(): void {
    this.openHolds++
  }

  /**
   * Posts a charge. Retries until it is posted or `settleMs` has passed, and then emits `charge-failed`.
   *
   * @returns the usable part of the ledger's answer. Undefined if there is none within `settleWaitMs`
   */
  settle(request: SettleRequest, requestId: string): Awaitable<SettleResult | undefined> {
    const answer = this.run(new ChargeRequest(requestId, request, this.options), this.endedWithHold)
    if (isPromise(answer)) this.settling.set(request.holdId, request)
    return answer
  }

  /** Releases a hold and retries until that succeeds. A hold that cannot be released in time expires. */
  async release(request: ReleaseRequest, requestId: string): Promise<void> {
    await this.free(request, requestId, this.endedWithHold)
  }

  /** Finds a call of an account by the holds that it may have taken. Its settlement may still be running here. */
  async find(
    query: LedgerCallQuery,
    context: LazyContext,
    lookUps: Pick<LedgerLookUps, 'findCall'>,
  ): Promise<FoundCall | undefined> {
    for (const holdId of query.holdIds) {
      const settlement = this.settling.get(holdId)
      if (settlement?.facts.account !== query.account) continue
      const { charge, facts } = settlement
      return { state: 'settling', charge, facts }
    }
    return askStore('ledger', this.options, context, () => lookUps.findCall(query, context))
  }

  /** Settles when nothing is running. */
  idle(): Promise<void> {
    return this.underWay === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve))
  }

  private free(
    { holdId, account }: ReleaseRequest,
    requestId: string,
    ended: (request: LedgerRequest<unknown>) => void,
  ): Awaitable<unknown> {
    const { emit, ledger } = this.options
    const request: LedgerRequest<unknown> = {
      requestId,
      ask: (context) => ledger.release({ holdId, account }, context),
      gaveUp: (error) => emit({ type: 'store-fault', store: 'ledger', requestId, error: eventError(error) }),
    }
    return this.run(request, ended)
  }

  private run<T>(
    request: LedgerRequest<T>,
    ended: (request: LedgerRequest<unknown>) => void,
  ): Awaitable<T | undefined> {
    this.underWay++
    return new LedgerRetry(this.options, request, ended).start()
  }

  /** Ends a request whose hold was not counted, since it may not have been taken. */
  private readonly ended = (): void => {
    this.underWay--
    if (this.underWay > 0 || this.waiting.length === 0) return
    for (const resume of this.waiting.splice(0)) resume()
  }

  private readonly endedWithHold = ({ settles }: LedgerRequest<unknown>): void => {
    if (settles !== undefined) this.settling.delete(settles)
    this.openHolds--
    this.ended()
  }
}
