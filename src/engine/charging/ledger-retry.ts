import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import { LazyContext } from '../asking/lazy-context.js'
import { afterReadyAnswers, DeadlinePassed, isPromise, nativeOf } from '../asking/within.js'

/** A request to the ledger that is retried, and its callbacks. */
export interface LedgerRequest<T> {
  readonly requestId: string
  /** The hold that the request settles. Undefined if it is not a settlement. */
  readonly settles?: string
  ask(context: LazyContext): Awaitable<T>
  /** Checks the first answer, even a late one. A throw counts as a failure. */
  read?(answer: T): T
  /** Called if there was no answer within the time for all tries. */
  gaveUp(error: unknown): void
}

const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

/**
 * Repeats a request to the ledger until it is answered or `settleMs` has passed. A try without an answer counts as
 * failed after `storeMs`. All tries are identical, so the first answer holds for all of them.
 */
export class LedgerRetry<T> {
  private readonly startedAt: number
  /** Whether the caller was told that there is no answer so far. */
  private isLate = false
  /** When the running try fails, or the next one is due. */
  private nextAt = 0
  private retryMs = FIRST_RETRY_MS
  private tried: LazyContext | undefined
  private isAnswered = false
  private isOver = false
  private cancelTimer: (() => void) | undefined
  private answer: T | undefined
  /** Settles the caller's promise. Only the first call counts. Undefined if the answer came at once. */
  private resolve: ((answer: T | undefined) => void) | undefined

  constructor(
    private readonly options: Pick<EngineOptions, 'clock' | 'timeouts'>,
    private readonly request: LedgerRequest<T>,
    /** Called once, when the request is over. */
    private readonly ended: (request: LedgerRequest<T>) => void,
  ) {
    this.startedAt = options.clock.now()
  }

  /** Returns the answer. Undefined if there is none, or none within the time that a reply can wait. */
  start(): Awaitable<T | undefined> {
    this.try()
    if (this.isOver) return this.answer
    return new Promise((resolve) => {
      this.resolve = resolve
    })
  }

  private try(): void {
    const context = new LazyContext(this.request.requestId)
    this.tried = context
    let answer: Awaitable<T>
    try {
      answer = this.request.ask(context)
      if (isPromise(answer)) answer = nativeOf(answer)
    } catch (error) {
      this.failed(context, error)
      return
    }
    if (!isPromise(answer)) {
      this.answered(context, answer)
      return
    }
    answer.then(
      (value) => this.answered(context, value),
      (error) => this.failed(context, error),
    )
    afterReadyAnswers(() => {
      if (this.tried === context) this.wakeIn(this.options.timeouts.storeMs)
    })
  }

  private answered(context: LazyContext, answer: T): void {
    if (this.isAnswered) return
    let read = answer
    try {
      if (this.request.read !== undefined) read = this.request.read(answer)
    } catch (error) {
      this.failed(context, error)
      return
    }
    this.isAnswered = true
    if (this.isOver) return
    if (this.tried !== context) this.tried?.end()
    this.end(read)
  }

  private failed(context: LazyContext, error: unknown): void {
    if (this.tried !== context) return
    context.end()
    this.tried = undefined
    if (this.elapsedMs + this.retryMs > this.options.timeouts.settleMs) {
      this.request.gaveUp(error)
      this.end(undefined)
      return
    }
    this.wakeIn(this.retryMs)
    this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS)
  }

  private end(answer: T | undefined): void {
    this.isOver = true
    this.tried = undefined
    this.cancelTimer?.()
    this.answer = answer
    this.resolve?.(answer)
    this.ended(this.request)
  }

  private get elapsedMs(): number {
    return this.options.clock.now() - this.startedAt
  }

  private wakeIn(ms: number): void {
    this.nextAt = this.options.clock.now() + ms
    this.setTimer()
  }

  private setTimer(): void {
    this.cancelTimer?.()
    const { clock, timeouts } = this.options
    const nextMs = this.nextAt - clock.now()
    const tellMs = this.isLate ? Infinity : timeouts.settleWaitMs - this.elapsedMs
    this.cancelTimer = clock.after(Math.min(nextMs, tellMs), () => this.wake())
  }

  private wake(): void {
    if (!this.isLate && this.elapsedMs >= this.options.timeouts.settleWaitMs) {
      this.isLate = true
      this.resolve?.(undefined)
    }
    if (this.options.clock.now() < this.nextAt) this.setTimer()
    else if (this.tried === undefined) this.try()
    else this.failed(this.tried, new DeadlinePassed(this.options.timeouts.storeMs))
  }
}
