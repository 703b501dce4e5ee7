import type { CallContext } from './context.js'
import type { Charge } from './ledger.js'

/** Keeps the replies of calls that carried an `Idempotency-Key`. That nobody pays twice rests on the ledger's claims, not on this. */
export interface IdempotencyStore {
  /**
   * Takes the claim, atomically, or says who has it: of many at once one is told `mine`. A claim that is free, or whose
   * lease or reply is over, can be taken by any request. A throw before a call means 503 `idempotency_store_unavailable`.
   */
  claim(request: IdempotencyClaim, context: CallContext): Promise<IdempotencyState>
  /** Keeps a reply for `ttlMs` from now, however long the lease was. That of a claim that is not known is no error. */
  complete(claim: string, reply: StoredReply, ttlMs: number, context: CallContext): Promise<void>
  /** Frees a claim under which nothing was charged. One that is not known, or has a reply, stays as it is. */
  abandon(claim: string, context: CallContext): Promise<void>
}

export interface IdempotencyClaim {
  readonly claim: string
  /** Who asks, so that a store can share its room out. */
  readonly account: string
  /** Tells the same request from another one under the same key. */
  readonly digest: string
  /** Milliseconds on the store's clock, after which a claim without a reply is free: its process has died. */
  readonly leaseMs: number
}

/**
 * `mine`: taken now. `in-flight`: another has it and no reply yet. `mismatch`: another `digest` has it, with or without a
 * reply. `done`: the same request has this reply.
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
