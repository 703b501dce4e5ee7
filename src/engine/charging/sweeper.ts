import type { EngineOptions } from '../../contracts/engine-options.js'
import { LazyContext } from '../asking/lazy-context.js'
import { within } from '../asking/within.js'
import { eventError } from '../events/event-error.js'

const SWEEP_EVERY_MS = 30_000
const HOLDS_A_SWEEP = 500

/** Reports holds whose process died before it could settle or release them. */
export class Sweeper {
  private hasEnded = false
  private cancel = (): void => {}
  private sweeping: Promise<unknown> = Promise.resolve()

  constructor(private readonly options: EngineOptions) {}

  /** Sweeps every half a minute from now on. */
  start(): void {
    if (this.hasEnded) return
    const run = (): void => {
      this.sweeping = this.sweep().then(() => this.start())
    }
    this.cancel = this.options.clock.after(SWEEP_EVERY_MS, run, 'background')
  }

  /** Never rejects: a failure of the ledger is an event. */
  async sweep(): Promise<{ expired: number }> {
    const { clock, emit, ledger, timeouts } = this.options
    const context = new LazyContext('sweeper')
    let expired = 0
    try {
      for (let found = HOLDS_A_SWEEP; found === HOLDS_A_SWEEP && !this.hasEnded; ) {
        const holds = await within(clock, timeouts.storeMs, ledger.expireHolds(HOLDS_A_SWEEP, context))
        for (const hold of holds) emit({ type: 'hold-expired', hold })
        found = holds.length
        expired += found
      }
    } catch (error) {
      context.end()
      emit({ type: 'store-fault', store: 'ledger', error: eventError(error) })
    }
    return { expired }
  }

  /** Settles when nothing more is asked of the ledger. */
  async end(): Promise<void> {
    this.hasEnded = true
    this.cancel()
    await this.sweeping
  }
}
