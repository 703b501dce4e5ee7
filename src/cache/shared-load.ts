import type { Clock } from '../clock.js'
import type { Awaitable, CallContext } from '../contracts/index.js'

export type Load<Value> = (context: CallContext) => Awaitable<Value>

/**
 * Starts a load that serves several callers: its signal is none of theirs, and it fails by itself after `loadMs`,
 * whether or not the store heeds the signal.
 */
export function startLoad<Value>(
  load: Load<Value>,
  { requestId, loadMs, clock }: { requestId: string; loadMs: number; clock: Clock },
): Promise<Value> {
  const controller = new AbortController()
  return new Promise<Value>((resolve, reject) => {
    const cancel = clock.after(loadMs, () => {
      const error = new Error(`The store did not answer within ${loadMs} ms`)
      reject(error)
      controller.abort(error)
    })
    // Called inside an async function, so that a throw of the store's is a rejection too.
    const loading = (async () => load({ requestId, signal: controller.signal }))()
    loading.then(resolve, reject).finally(cancel)
  })
}

/** Waits for a shared load no longer than a signal allows. The load goes on for the others. */
export function waitFor<Value>(loading: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    const leave = (): void => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    loading.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
