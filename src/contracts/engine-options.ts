import type { Clock } from '../base/clock.js'
import type { ByokFee } from '../base/prices.js'
import type { Admit } from './admit.js'
import type { CallStore } from './calls.js'
import type { CatalogueStore } from './catalogue.js'
import type { CredentialStore } from './credentials.js'
import type { Envelopes } from './envelope.js'
import type { RouterEvent } from './events.js'
import type { FastPaths } from './fast-paths.js'
import type { IdempotencyStore } from './idempotency.js'
import type { LedgerStore } from './ledger.js'
import type { RouterSettings } from './limits.js'
import type { LedgerLookUps } from './look-ups.js'
import type { ProviderRegistry } from './providers.js'
import type { ReasoningName, ReasoningNaming } from './reasoning-name.js'
import type { TokenCounter } from './token-counter.js'

/** All options and parts of the engine, with every default filled in. */
export interface EngineOptions extends RouterSettings {
  readonly credentials: CredentialStore
  readonly catalogue: CatalogueStore
  readonly ledger: LedgerStore & Partial<LedgerLookUps>
  readonly providers: ProviderRegistry
  readonly envelopes: Envelopes | undefined
  /** Keeps how requests ended. */
  readonly calls: CallStore
  readonly idempotency: {
    readonly store: IdempotencyStore
    readonly ttlMs: number
    readonly keepBodies: boolean
  }
  readonly platformAccount: string
  readonly neverOverdraw: boolean
  readonly byokFee: ByokFee
  /** The last sentence of the router's 402 messages. */
  readonly creditHelp: string | undefined
  readonly admit: Admit | undefined
  readonly reasoningName: ReasoningName | ReasoningNaming | undefined
  /** Never throws. */
  readonly emit: (event: RouterEvent) => void
  /** The requests whose events `emit` needs. Other events are always emitted. */
  readonly heard: 'all' | 'failed' | 'none'
  /** `read`: events contain the caller's trace context. `forward`: providers also receive it. */
  readonly traceContext: 'read' | 'forward' | undefined
  /** For deadlines and durations. Not affected by setting the machine's clock. */
  readonly clock: Clock
  /** For times in events and stores. */
  readonly wallClock: Clock
  readonly newId: () => string
  /** For prompts. */
  readonly counter: TokenCounter
  /** For replies. It may be cheaper than `counter`, because a reply is counted only to estimate a charge. */
  readonly replyCounter: TokenCounter
  /** Never counts fewer tokens than a provider. For holds under `neverOverdraw`. */
  readonly upperCounter: TokenCounter
  readonly fastPaths: FastPaths
  /** Whether a timer, stream or wait ends with the call that began it, so that none may serve another call: on Workers. */
  readonly isolatesCalls: boolean
}
