import { type CompatError, isCompatError } from '../../base/errors.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import { reportUnavailable, type StoreName, storeUnavailable } from '../failures/store-failures.js'
import type { LazyContext } from './lazy-context.js'
import { within } from './within.js'

/** The options needed to ask a store. */
export type Asking = Pick<EngineOptions, 'clock' | 'emit' | 'timeouts'>

/**
 * Asks a store within its deadline. If it throws or does not answer in time, emits a `store-fault` event and throws the
 * store's 503. Emits nothing if the client has left, since a store may then give up. Rethrows a `CompatError`
 * unchanged.
 */
export function askStore<T>(
  store: StoreName,
  options: Asking,
  context: LazyContext,
  ask: () => Awaitable<T>,
): Awaitable<T> {
  const failed = (error: unknown): CompatError => {
    if (isCompatError(error)) return error
    if (context.hasEnded) return storeUnavailable(store, error)
    return reportUnavailable(store, options, context.requestId, error)
  }
  let answer: Awaitable<T>
  try {
    answer = ask()
  } catch (error) {
    throw failed(error)
  }
  return within(options.clock, options.timeouts.storeMs, answer, failed)
}
