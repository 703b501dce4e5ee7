import type { CallContext } from './context.js'
import type { Charge } from './ledger.js'

/** Keeps the replies of calls that carried an `Idempotency-Key`. That nobody pays twice rests on the ledger's claims, not on this. */
export interface IdempotencyStore {
  /**
   * Takes the claim, atomically, or says who has it. `leaseMs` frees a claim whose process died.
   * `digest` tells the same request from another one under the same key.
   */
  claim(request: IdempotencyClaim, context: CallContext): Promise<IdempotencyState>
  /** Keeps a reply for `ttlMs`. */
  complete(claim: string, reply: StoredReply, ttlMs: number, context: CallContext): Promise<void>
  /** Frees a claim under which nothing was charged. */
  abandon(claim: string, context: CallContext): Promise<void>
}

export interface IdempotencyClaim {
  readonly claim: string
  readonly account: string
  readonly digest: string
  readonly leaseMs: number
}

export type IdempotencyState =
  | { readonly state: 'mine' | 'in-flight' | 'mismatch' }
  | { readonly state: 'done'; readonly reply: StoredReply }

export interface StoredReply {
  readonly mode: 'json' | 'stream'
  /** The body as sent. Absent where bodies are not kept or were too large. */
  readonly bytes?: string
  /** The HTTP status of a JSON reply. */
  readonly status?: number
  readonly charge: Charge
}
