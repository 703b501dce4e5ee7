import type { Clock } from '../clock.js'
import type { Awaitable, CallContext } from '../contracts/index.js'

export type Load<Value> = (context: CallContext) => Awaitable<Value>

/**
 * A load that serves several callers: its signal is none of theirs, and it fails by itself after `loadMs`, whether or not
 * the store heeds the signal. The signal aborts early if all who waited have left; an answer that still comes is good.
 */
export class SharedLoad<Value> {
  readonly answer: Promise<Value>
  readonly #controller = new AbortController()
  #waiting = 0

  constructor(
    load: Load<Value>,
    { requestId, loadMs, clock }: { requestId: string; loadMs: number; clock: Clock },
  ) {
    const { signal } = this.#controller
    this.answer = new Promise<Value>((resolve, reject) => {
      const cancel = clock.after(loadMs, () => {
        const error = new Error(`The store did not answer within ${loadMs} ms`)
        reject(error)
        this.#controller.abort(error)
      })
      // Called inside an async function, so that a throw of the store's is a rejection too.
      const loading = (async () => load({ requestId, signal }))()
      loading.then(resolve, reject).finally(cancel)
    })
    // Told to those who wait. If they have all left there is nobody to tell.
    this.answer.catch(() => {})
  }

  /** Whether the store was told to stop, so that nobody else may wait for it. */
  get isAbandoned(): boolean {
    return this.#controller.signal.aborted
  }

  /** Waits no longer than a signal allows. The load goes on for the others. */
  waitFor(signal: AbortSignal): Promise<Value> {
    this.#waiting++
    return new Promise<Value>((resolve, reject) => {
      const leave = (): void => {
        reject(signal.reason)
        if (--this.#waiting === 0) this.#controller.abort(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
  }
}
