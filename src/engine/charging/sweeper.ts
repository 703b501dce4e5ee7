import type { EngineOptions } from '../../contracts/engine-options.js'
import { LazyContext } from '../asking/lazy-context.js'
import { within } from '../asking/within.js'
import { eventError } from '../events/event-error.js'

const SWEEP_EVERY_MS = 30_000
const HOLDS_A_SWEEP = 500

/**
 * Reports holds whose process died before it could settle or release them. Returns a function that stops the sweeper
 * and settles when nothing more is asked of the ledger.
 */
export function startSweeper(options: EngineOptions): () => Promise<void> {
  const { clock, emit, ledger, timeouts } = options
  let ended = false
  let cancel = (): void => {}
  let sweeping = Promise.resolve()

  const sweep = async (): Promise<void> => {
    const context = new LazyContext('sweeper')
    try {
      for (let found = HOLDS_A_SWEEP; found === HOLDS_A_SWEEP && !ended; ) {
        const expired = await within(clock, timeouts.storeMs, ledger.expireHolds(HOLDS_A_SWEEP, context))
        for (const hold of expired) emit({ type: 'hold-expired', hold })
        found = expired.length
      }
    } catch (error) {
      context.end()
      emit({ type: 'store-fault', store: 'ledger', error: eventError(error) })
    }
    schedule()
  }
  const schedule = (): void => {
    if (ended) return
    const run = (): void => {
      sweeping = sweep()
    }
    cancel = clock.after(SWEEP_EVERY_MS, run, 'background')
  }

  schedule()
  return () => {
    ended = true
    cancel()
    return sweeping
  }
}
