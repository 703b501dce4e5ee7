import type { Clock } from '../base/clock.js'
import type { CallContext } from '../contracts/index.js'

/** The context of a load. Its signal is created on first use, since a synchronous answer needs none. */
export class LoadContext implements CallContext {
  #controller: AbortController | undefined

  constructor(readonly requestId: string) {}

  get signal(): AbortSignal {
    return this.#ensure().signal
  }

  get isAborted(): boolean {
    return this.#controller?.signal.aborted === true
  }

  abort(reason: unknown): void {
    this.#ensure().abort(reason)
  }

  #ensure(): AbortController {
    this.#controller ??= new AbortController()
    return this.#controller
  }
}

/**
 * A load that serves several callers: its signal is none of theirs, and it fails by itself after `loadMs`, whether or not
 * the store heeds the signal. The signal aborts early if all who waited have left; an answer that still comes is good.
 */
export class SharedLoad<Value> {
  readonly answer: Promise<Value>
  #waiting = 0

  constructor(
    loading: Promise<Value>,
    private readonly context: LoadContext,
    { loadMs, clock }: { loadMs: number; clock: Clock },
  ) {
    this.answer = new Promise<Value>((resolve, reject) => {
      const cancel = clock.after(loadMs, () => {
        const error = new Error(`The store did not answer within ${loadMs} ms`)
        reject(error)
        context.abort(error)
      })
      loading.then(resolve, reject).finally(cancel)
    })
    // Told to those who wait. If they have all left there is nobody to tell.
    this.answer.catch(() => {})
  }

  /** Whether the store was told to stop, so that nobody else may wait for it. */
  get isAbandoned(): boolean {
    return this.context.isAborted
  }

  /** Waits no longer than a signal allows. The load goes on for the others. */
  waitFor(signal: AbortSignal): Promise<Value> {
    this.#waiting++
    return new Promise<Value>((resolve, reject) => {
      const leave = (): void => {
        reject(signal.reason)
        if (--this.#waiting === 0) this.context.abort(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
  }
}
