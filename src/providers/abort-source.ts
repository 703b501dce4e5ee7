import type { AbortSource, ProviderCall } from '../contracts/providers.js'

/** Tells whether a call was aborted: by its `abort`, or where that does not speak for it by its `signal`. */
export function abortSourceOf(call: Pick<ProviderCall, 'abort' | 'signal'>): Omit<AbortSource, 'speaksFor'> {
  if (call.abort?.speaksFor(call) === true) return call.abort
  const { signal } = call
  return {
    aborted: signal.aborted,
    get reason() {
      return signal.reason
    },
    listen(listener) {
      signal.addEventListener('abort', listener, { once: true })
      return () => signal.removeEventListener('abort', listener)
    },
  }
}
