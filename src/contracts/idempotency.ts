import type { CallContext } from './context.js'
import type { Charge } from './ledger.js'

/** Keeps replies of calls with an `Idempotency-Key`. The ledger's claims, not this store, ensure that nobody pays twice. */
export interface IdempotencyStore {
  /**
   * Takes the claim atomically, or returns its state: of many concurrent requests, one gets `mine`. Any request can take
   * a claim that is free, or whose lease or reply has expired. A throw means 503 `idempotency_store_unavailable`.
   */
  claim(request: IdempotencyClaim, context: CallContext): Promise<IdempotencyState>
  /** Keeps a reply for `ttlMs` from now, whatever the lease was. An unknown claim is not an error. */
  complete(claim: string, reply: StoredReply, ttlMs: number, context: CallContext): Promise<void>
  /** Releases a claim for which nothing was charged. Does nothing if the claim is unknown or has a reply. */
  abandon(claim: string, context: CallContext): Promise<void>
}

export interface IdempotencyClaim {
  readonly claim: string
  /** The account that asks, so that a store can share its space fairly. */
  readonly account: string
  /** Distinguishes the same request from another one with the same key. */
  readonly digest: string
  /** In milliseconds by the store's clock. After that, a claim without a reply is free, because its process has died. */
  readonly leaseMs: number
}

/**
 * `mine`: claimed now. `in-flight`: another call has it, without a reply so far. `mismatch`: a request with another
 * `digest` has it. `done`: the same request has this reply.
 */
export type IdempotencyState =
  | { readonly state: 'mine' | 'in-flight' | 'mismatch' }
  | { readonly state: 'done'; readonly reply: StoredReply }

export interface StoredReply {
  readonly mode: 'json' | 'stream'
  /** The body as text. Absent if bodies are not kept, or if it was too large. */
  readonly bytes?: string
  /** The HTTP status of a JSON reply. */
  readonly status?: number
  readonly charge: Charge
}
