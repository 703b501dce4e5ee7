import type { Clock } from '../base/clock.js'
import type { Credits } from '../base/money.js'
import type { Secret } from '../base/secret.js'
import type { TraceContext } from '../protocol/trace-context.js'

export type { Clock, Credits, Secret, TraceContext }

export type Awaitable<T> = T | Promise<T>

/**
 * What a store is told about the call that asks.
 *
 * `signal` aborts when the answer is no longer wanted: the client left, or a deadline of the router's passed.
 * A store may ignore it; the router does not wait for an answer past its own deadline.
 */
export interface CallContext {
  readonly requestId: string
  readonly signal: AbortSignal
}

/**
 * Calls `changed` with the id (a `credentialId`, a model id) of what is no longer what it was, or without one when
 * everything may have changed. Returns a function that ends the watch.
 *
 * `connection` tells a cache whether changes are being heard: while it is `false`, credentials are not cached.
 */
export type Watch = (changed: (id?: string) => void, connection?: (connected: boolean) => void) => () => void
