import { ProviderError } from '../../base/errors.js'

/** Returns the error of a call whose signal was aborted. */
export function abortedError(signal: AbortSignal): ProviderError {
  return new ProviderError('cut-short', 'The call was aborted.', { cause: signal.reason })
}

/**
 * Waits for `work`, but only until the signal aborts, even if `work` ignores it. `onLate` receives a result that
 * arrives after that.
 */
export function untilAborted<Result>(
  work: () => PromiseLike<Result> | Result,
  signal: AbortSignal,
  onLate: (result: Result) => void = () => {},
): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(abortedError(signal))
      return
    }
    const onAbort = () => reject(abortedError(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    const run = async () => work()
    run()
      .then((result) => {
        if (signal.aborted) onLate(result)
        resolve(result)
      })
      .catch(reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}
