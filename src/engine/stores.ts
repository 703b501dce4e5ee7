import type { Awaitable } from '../contracts/context.js'
import type { StoreFault } from '../contracts/events.js'
import { CompatError, type ErrorCode, isCompatError } from '../errors.js'
import { asCompatError } from '../protocol/error-body.js'
import { isPromise } from './awaitable.js'
import { eventError } from './events/event-error.js'
import type { LazyContext } from './lazy-context.js'
import type { EngineOptions } from './options.js'
import { within } from './within.js'

type Store = StoreFault['store']

const UNAVAILABLE: Record<Store, ErrorCode> = {
  credentials: 'credential_store_unavailable',
  catalogue: 'catalogue_unavailable',
  ledger: 'ledger_unavailable',
  providers: 'provider_registry_unavailable',
  envelopes: 'envelope_opener_unavailable',
  idempotency: 'idempotency_store_unavailable',
}

const UNAVAILABLE_TEXT = 'A part of this service cannot be reached just now. Try again shortly.'

/**
 * Asks a store within its deadline. A throw, or no answer, becomes a `store-fault` event and the store's 503; no event
 * where the client had left, since a store may then give up. A `CompatError` is thrown on as it is.
 */
export function askStore<T>(
  store: Store,
  options: EngineOptions,
  context: LazyContext,
  ask: () => Awaitable<T>,
): Awaitable<T> {
  let answer: Awaitable<T>
  try {
    answer = ask()
  } catch (error) {
    throw noAnswer(store, options, context, error)
  }
  return isPromise(answer) ? inTime(store, options, context, answer) : answer
}

function inTime<T>(
  store: Store,
  options: EngineOptions,
  context: LazyContext,
  answer: Promise<T>,
): Awaitable<T> {
  return within(options.clock, options.limits.storeMs, answer, (error) =>
    noAnswer(store, options, context, error),
  )
}

function noAnswer(store: Store, options: EngineOptions, context: LazyContext, error: unknown): CompatError {
  if (isCompatError(error)) return error
  if (context.hasEnded) return new CompatError(UNAVAILABLE[store], UNAVAILABLE_TEXT, { cause: error })
  return unavailable(store, options, context.requestId, error)
}

/** Tells the host of a store that cannot answer, and makes the client's 503. */
export function unavailable(
  store: Store,
  options: EngineOptions,
  requestId: string,
  error: unknown,
): CompatError {
  options.emit({ type: 'store-fault', store, requestId, error: eventError(error) })
  return new CompatError(UNAVAILABLE[store], UNAVAILABLE_TEXT, { cause: error })
}

/** Tells the host of a store that answered what it may not, and makes the client's 500. */
export function faultyStore(
  store: Store,
  options: EngineOptions,
  requestId: string,
  why: string,
): CompatError {
  const error = new TypeError(`The ${store} store broke its contract: ${why}.`)
  options.emit({ type: 'store-fault', store, requestId, error: eventError(error) })
  return asCompatError(error)
}
