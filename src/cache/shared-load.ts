import type { Clock } from '../base/clock.js'
import type { CallContext } from '../contracts/index.js'

/** The context of a load. It creates its signal on first use, because a synchronous answer needs none. */
export class LoadContext implements CallContext {
  private controller: AbortController | undefined

  constructor(readonly requestId: string) {}

  get signal(): AbortSignal {
    return this.ensure().signal
  }

  get isAborted(): boolean {
    return this.controller?.signal.aborted === true
  }

  abort(reason: unknown): void {
    this.ensure().abort(reason)
  }

  private ensure(): AbortController {
    this.controller ??= new AbortController()
    return this.controller
  }
}

/**
 * A load that serves several callers. It has its own signal, and it fails after `loadMs` whether or not the store
 * observes the signal. The signal aborts early if all callers have left. An answer that still arrives is valid.
 */
export class SharedLoad<Value> {
  readonly answer: Promise<Value>
  private waiting = 0

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
    // Callers handle the error in waitFor. If all have left, it must not become an unhandled rejection.
    this.answer.catch(() => {})
  }

  /** Whether the signal has aborted. A new caller must not wait for this load. */
  get isAbandoned(): boolean {
    return this.context.isAborted
  }

  /** Waits for the answer until `signal` aborts. The load continues for the other callers. */
  waitFor(signal: AbortSignal): Promise<Value> {
    this.waiting++
    return new Promise<Value>((resolve, reject) => {
      const leave = (): void => {
        reject(signal.reason)
        if (--this.waiting === 0) this.context.abort(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
  }
}
