import type { KeptCall } from '../../contracts/calls.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import { isChargedOperation } from '../../rules/free-operations.js'
import { ownerOfCall } from '../../rules/kept-calls.js'
import { eventError } from './event-error.js'
import { Explanations } from './explanations.js'

/** The most uncharged calls of one account recorded per second. Anybody with a key can cause any number of them. */
const UNCHARGED_A_SECOND = 100
/** The most unauthenticated requests recorded per second, for all clients together. */
const UNAUTHENTICATED_A_SECOND = 20
const NOBODY = ''
const UNAUTHENTICATED_STATUS = 401

type Ended = Pick<KeptCall, 'at' | 'caller' | 'charge' | 'facts' | 'operation' | 'status'>

/** Passes the calls that are worth keeping to the host's store of calls. */
export class CallRecorder {
  readonly explanations = new Explanations()
  private second = 0
  /** The number of uncharged calls of each account recorded in this second. */
  private readonly uncharged = new Map<string, number>()

  constructor(private readonly options: Pick<EngineOptions, 'calls' | 'emit'>) {}

  /** Returns whether to record a request that has ended. Counts it if it was not charged. */
  wants(ended: Ended): boolean {
    if (ended.charge !== undefined) return true
    if (ended.status < 400 && !isChargedOperation(ended.operation)) return false
    const second = Math.floor(ended.at / 1_000)
    if (second !== this.second) {
      this.second = second
      this.uncharged.clear()
    }
    const account = ended.status === UNAUTHENTICATED_STATUS ? undefined : ownerOfCall(ended)?.account
    const count = (this.uncharged.get(account ?? NOBODY) ?? 0) + 1
    this.uncharged.set(account ?? NOBODY, count)
    return count <= (account === undefined ? UNAUTHENTICATED_A_SECOND : UNCHARGED_A_SECOND)
  }

  /** Records a call. Reports a store that throws. */
  record(call: KeptCall): void {
    try {
      // A host may have written this method as async.
      const result: unknown = this.options.calls.record(call)
      if (result !== undefined) {
        Promise.resolve(result).catch((error) => this.reportFault(call.requestId, error))
      }
    } catch (error) {
      this.reportFault(call.requestId, error)
    }
  }

  private reportFault(requestId: string, error: unknown): void {
    this.options.emit({ type: 'store-fault', store: 'calls', requestId, error: eventError(error) })
  }
}
