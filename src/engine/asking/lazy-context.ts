import type { CallContext } from '../../contracts/context.js'

/** A context that creates its signal only when it is first read, since most stores never read it. */
export class LazyContext implements CallContext {
  private controller: AbortController | undefined
  /** Whether the answer is no longer wanted. */
  hasEnded = false

  constructor(readonly requestId: string) {}

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    if (this.hasEnded) this.controller.abort()
    return this.controller.signal
  }

  end(): void {
    this.hasEnded = true
    this.controller?.abort()
  }
}
