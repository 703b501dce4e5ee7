import type { CallContext } from '../../contracts/context.js'

/** A context whose signal is made when it is first asked for, since most stores never do. */
export class LazyContext implements CallContext {
  private controller: AbortController | undefined
  private ended = false

  constructor(readonly requestId: string) {}

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    if (this.ended) this.controller.abort()
    return this.controller.signal
  }

  get hasEnded(): boolean {
    return this.ended
  }

  /** The answer is no longer wanted. */
  end(): void {
    this.ended = true
    this.controller?.abort()
  }
}
