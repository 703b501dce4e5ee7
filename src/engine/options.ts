import type { Clock } from '../clock.js'
import type { CatalogueStore } from '../contracts/catalogue.js'
import type { Awaitable, CallContext } from '../contracts/context.js'
import type { CredentialStore, Principal } from '../contracts/credentials.js'
import type { Envelopes } from '../contracts/envelope.js'
import type { RouterEvent } from '../contracts/events.js'
import type { IdempotencyStore } from '../contracts/idempotency.js'
import type { LedgerStore } from '../contracts/ledger.js'
import type { Limits } from '../contracts/limits.js'
import type { ProviderRegistry } from '../contracts/providers.js'
import type { ByokFee } from './charging/price.js'
import type { TokenCounter } from './charging/token-counter.js'

/** A host's own limiter, asked after the credential is known and before the body is read. */
export type Admit = (
  principal: Principal,
  context: CallContext,
) => Awaitable<{ readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number }>

/** All that the engine is made of, every default filled in. */
export interface EngineOptions {
  readonly credentials: CredentialStore
  readonly catalogue: CatalogueStore
  readonly ledger: LedgerStore
  readonly providers: ProviderRegistry
  readonly envelopes: Envelopes | undefined
  readonly idempotency: {
    readonly store: IdempotencyStore
    readonly ttlMs: number
    readonly keepBodies: boolean
  }
  readonly platformAccount: string
  readonly neverOverdraw: boolean
  readonly byokFee: ByokFee
  readonly limits: Limits
  readonly admit: Admit | undefined
  /** Never throws. */
  readonly emit: (event: RouterEvent) => void
  /** Whether the trace context of a caller is told in events, and whether providers are sent it too. */
  readonly traceContext: 'read' | 'forward' | undefined
  /** For deadlines and for how long something took. Nobody sets it. */
  readonly clock: Clock
  /** What time it is, for what is told and kept. */
  readonly wallClock: Clock
  readonly newId: () => string
  /** For prompts. */
  readonly counter: TokenCounter
  /** For replies, of which only charges are estimated: they take less work. */
  readonly replyCounter: TokenCounter
  /** Counts no fewer tokens than a provider may, for holds under `neverOverdraw`. */
  readonly upperCounter: TokenCounter
  readonly splice: boolean
}
