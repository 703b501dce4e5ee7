import type { Clock } from '../base/clock.js'
import type { ByokFee } from '../base/prices.js'
import type { Admit } from './admit.js'
import type { CatalogueStore } from './catalogue.js'
import type { CredentialStore } from './credentials.js'
import type { Envelopes } from './envelope.js'
import type { RouterEvent } from './events.js'
import type { IdempotencyStore } from './idempotency.js'
import type { LedgerStore } from './ledger.js'
import type { Limits } from './limits.js'
import type { ProviderRegistry } from './providers.js'
import type { TokenCounter } from './token-counter.js'

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
