const ABORT = Symbol('abort')

/** A call that can be aborted. */
interface Abortable {
  readonly signal: AbortSignal
}

interface WithAbort extends Abortable {
  readonly [ABORT]?: CallAbort
}

/** One for all calls: with a getter of its own, each would be an object that V8 keeps as a dictionary. */
const SIGNAL: PropertyDescriptor & ThisType<{ readonly [ABORT]: CallAbort }> = {
  enumerable: true,
  get() {
    return this[ABORT].signal
  },
}

/**
 * Aborts one call. Its signal is made when an adapter first reads it: a signal with a listener costs 6 µs, and most calls
 * need none.
 */
export class CallAbort {
  isAborted = false
  private listener: (() => void) | undefined
  private controller: AbortController | undefined

  /** Gives a call its signal. Copies of the call have it too. */
  attachTo<Call extends object>(call: Call): Call & Abortable {
    const withAbort = call as Call & { [ABORT]?: CallAbort }
    withAbort[ABORT] = this
    return Object.defineProperty(withAbort as Call & { [ABORT]: CallAbort } & Abortable, 'signal', SIGNAL)
  }

  abort(): void {
    this.isAborted = true
    this.controller?.abort()
    this.listener?.()
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    if (this.isAborted) this.controller.abort()
    return this.controller.signal
  }

  /** Whether a signal was made. Somebody may then have made a copy of the call with another signal. */
  get hasSignal(): boolean {
    return this.controller !== undefined
  }

  /** Calls a listener instead of the one before. */
  listen(listener: (() => void) | undefined): void {
    this.listener = listener
  }
}

/** Returns the abort of a call that nobody has read the signal of. Any other call goes by its signal alone. */
function abortOf(call: WithAbort): CallAbort | undefined {
  const abort = Object.hasOwn(call, ABORT) ? call[ABORT] : undefined
  return abort?.hasSignal === false ? abort : undefined
}

/** Whether a call was aborted. Does not make its signal. */
export function isAborted(call: Abortable): boolean {
  return abortOf(call)?.isAborted ?? call.signal.aborted
}

/**
 * Calls a listener once, without the reason, if the call is aborted. Returns a function that ends this. Does not make the
 * signal of the call.
 */
export function onceAborted(call: Abortable, listener: () => void): () => void {
  const abort = abortOf(call)
  if (abort !== undefined) {
    abort.listen(listener)
    return () => abort.listen(undefined)
  }
  const { signal } = call
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}
