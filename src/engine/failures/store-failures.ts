import { CompatError, type ErrorCode } from '../../base/errors.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { StoreFault } from '../../contracts/events.js'
import { asCompatError } from '../../protocol/error-body.js'
import { eventError } from '../events/event-error.js'

/** The stores without which a call cannot be answered. */
export type StoreName = Exclude<StoreFault['store'], 'calls'>
type Reporting = Pick<EngineOptions, 'emit'>

const UNAVAILABLE: Record<StoreName, ErrorCode> = {
  credentials: 'credential_store_unavailable',
  catalogue: 'catalogue_unavailable',
  ledger: 'ledger_unavailable',
  providers: 'provider_registry_unavailable',
  envelopes: 'envelope_opener_unavailable',
  idempotency: 'idempotency_store_unavailable',
}

const UNAVAILABLE_TEXT = 'A part of this service cannot be reached just now. Try again shortly.'

/** Returns the 503 for a store that cannot answer. Emits no event, since nobody is waiting any more. */
export function storeUnavailable(store: StoreName, cause: unknown): CompatError {
  return new CompatError(UNAVAILABLE[store], UNAVAILABLE_TEXT, { cause })
}

/** Reports a store that cannot answer to the host, and returns the 503 for the client. */
export function reportUnavailable(
  store: StoreName,
  { emit }: Reporting,
  requestId: string,
  error: unknown,
): CompatError {
  emit({ type: 'store-fault', store, requestId, error: eventError(error) })
  return storeUnavailable(store, error)
}

/** Reports a store that broke its contract to the host, and returns the 500 for the client. */
export function faultyStore(
  store: StoreName,
  { emit }: Reporting,
  requestId: string,
  why: string,
): CompatError {
  const error = new TypeError(`The ${store} store broke its contract: ${why}.`)
  emit({ type: 'store-fault', store, requestId, error: eventError(error) })
  return asCompatError(error)
}
