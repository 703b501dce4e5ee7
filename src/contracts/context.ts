import type { Clock } from '../base/clock.js'
import type { Credits } from '../base/money.js'
import type { Secret } from '../base/secret.js'
import type { TraceContext } from '../protocol/trace-context.js'

export type { Clock, Credits, Secret, TraceContext }

export type Awaitable<T> = T | Promise<T>

/**
 * Describes the call that asks a store.
 *
 * `signal` aborts if the answer is no longer needed, because the client left or a deadline passed. A store may ignore it:
 * the router does not wait beyond its own deadline.
 */
export interface CallContext {
  readonly requestId: string
  readonly signal: AbortSignal
}

/**
 * Calls `changed` with the id (a `credentialId`, a model id) of each changed item, or without an id if everything may have
 * changed. Returns a function that ends the watch.
 *
 * Calls `connection` with `false` while changes cannot be observed: caches then keep no credentials.
 */
export type Watch = (changed: (id?: string) => void, connection?: (connected: boolean) => void) => () => void
