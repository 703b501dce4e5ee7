import type { Clock } from '../../src/base/clock.js'
import type { Awaitable, CallContext, LedgerStore } from '../../src/contracts/index.js'

export type LedgerOperation = 'hold' | 'settle' | 'release'

/**
 * The fault of one operation.
 *
 * - `throws`: it is not done, and the caller gets an error
 * - `answer-lost`: it is done, and the caller gets an error
 * - `hangs`: it is not done, and nobody answers
 * - `hangs-after`: it is done, and nobody answers
 * - `afterMs`: it is done and answered after this time
 * - `when`: it is done and answered when the promise is fulfilled
 * - `answers`: it is done, and the answer is replaced
 */
export type LedgerFault =
  | 'throws'
  | 'answer-lost'
  | 'hangs'
  | 'hangs-after'
  | { readonly afterMs: number }
  | { readonly when: Promise<unknown> }
  | { readonly answers: (real: never) => unknown }

export interface LedgerCall {
  readonly operation: LedgerOperation
  readonly request: { readonly holdId: string }
}

/** Chooses the fault of a call, if any. */
export type DecideFault = (call: LedgerCall) => LedgerFault | undefined

const UNREACHABLE = 'The ledger cannot be reached.'

/** A ledger with the faults that `decide` returns. Reads never fail. */
export function faultyLedger<Ledger extends LedgerStore>(
  ledger: Ledger,
  clock: Clock,
  decide: DecideFault,
): Ledger {
  function run<Result>(call: LedgerCall, work: () => Awaitable<Result>): Awaitable<Result> {
    const fault = decide(call)
    return fault === undefined ? work() : failing(fault, work)
  }

  async function failing<Result>(fault: LedgerFault, work: () => Awaitable<Result>): Promise<Result> {
    switch (fault) {
      case 'throws':
        throw new Error(UNREACHABLE)
      case 'answer-lost':
        await work()
        throw new Error(UNREACHABLE)
      case 'hangs':
        return new Promise<Result>(() => {})
      case 'hangs-after':
        await work()
        return new Promise<Result>(() => {})
    }
    if ('afterMs' in fault) {
      await new Promise<void>((resolve) => clock.after(fault.afterMs, resolve))
      return work()
    }
    if ('when' in fault) {
      await fault.when
      return work()
    }
    return fault.answers((await work()) as never) as Result
  }

  return {
    ...ledger,
    hold: (request, context: CallContext) =>
      run({ operation: 'hold', request }, () => ledger.hold(request, context)),
    settle: (request, context: CallContext) =>
      run({ operation: 'settle', request }, () => ledger.settle(request, context)),
    release: (request, context: CallContext) =>
      run({ operation: 'release', request }, () => ledger.release(request, context)),
  }
}

/** The faults that a test has queued. Records every call, including those without a fault. */
export class FaultPlan {
  readonly calls: LedgerCall[] = []
  private readonly queues = new Map<LedgerOperation, (LedgerFault | undefined)[]>()
  private readonly standing = new Map<LedgerOperation, LedgerFault>()
  private readonly waiting = new Set<() => void>()

  /** The next calls of an operation get these faults, one each. `undefined` lets one through. */
  next(operation: LedgerOperation, ...faults: readonly (LedgerFault | undefined)[]): this {
    this.queues.set(operation, [...(this.queues.get(operation) ?? []), ...faults])
    return this
  }

  /** Every call gets this fault after the queued ones are used up. */
  always(operation: LedgerOperation, fault: LedgerFault): this {
    this.standing.set(operation, fault)
    return this
  }

  /** No faults from now on. */
  heal(): void {
    this.queues.clear()
    this.standing.clear()
  }

  count(operation: LedgerOperation): number {
    return this.calls.filter((call) => call.operation === operation).length
  }

  /** Waits until an operation has been called so often. */
  async asked(operation: LedgerOperation, times = 1): Promise<void> {
    while (this.count(operation) < times) {
      await new Promise<void>((resolve) => this.waiting.add(resolve))
    }
  }

  readonly decide: DecideFault = (call) => {
    this.calls.push(call)
    for (const resume of this.waiting) resume()
    this.waiting.clear()
    const queue = this.queues.get(call.operation)
    return queue !== undefined && queue.length > 0 ? queue.shift() : this.standing.get(call.operation)
  }
}
