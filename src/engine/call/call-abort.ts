import type { AbortSource, ProviderCall, ProviderRequest } from '../../contracts/providers.js'

/** One for all calls: each with a getter of its own would be an object that V8 keeps as a dictionary. */
const SIGNAL: PropertyDescriptor & ThisType<{ readonly abort: CallAbort }> = {
  enumerable: true,
  get() {
    return this.abort.signal
  },
}

/** Ends the provider's work on one call. The signal is made when an adapter first asks for it: many need none. */
export class CallAbort implements AbortSource {
  aborted = false
  private listener: (() => void) | undefined
  private controller: AbortController | undefined
  private call: ProviderCall<ProviderRequest> | undefined

  /** The call as its adapter gets it. */
  attachTo({
    auth,
    limits,
    request,
    requestId,
    stream,
    trace,
  }: Omit<ProviderCall<ProviderRequest>, 'abort' | 'signal'>): ProviderCall<ProviderRequest> {
    const call = { request, stream, auth, limits, requestId, trace, abort: this }
    this.call = Object.defineProperty(call, 'signal', SIGNAL) as typeof call &
      Pick<ProviderCall<ProviderRequest>, 'signal'>
    return this.call
  }

  speaksFor(call: object): boolean {
    return call === this.call
  }

  listen(listener: () => void): () => void {
    this.listener = listener
    return () => {
      this.listener = undefined
    }
  }

  abort(): void {
    this.aborted = true
    this.controller?.abort()
    this.listener?.()
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    if (this.aborted) this.controller.abort()
    return this.controller.signal
  }
}
