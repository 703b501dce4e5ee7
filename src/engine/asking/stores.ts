import { type CompatError, isCompatError } from '../../base/errors.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import { reportUnavailable, type StoreName, storeUnavailable } from '../failures/store-failures.js'
import type { LazyContext } from './lazy-context.js'
import { within } from './within.js'

/** The options needed to ask a store. */
export type Asking = Pick<EngineOptions, 'clock' | 'emit' | 'limits'>

/**
 * Asks a store within its deadline. A throw, or no answer in time, becomes a `store-fault` event and the store's 503. If
 * the client had left there is no event, since a store may then give up. A `CompatError` is thrown on unchanged.
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
  return within(options.clock, options.limits.storeMs, answer, failed)
}
