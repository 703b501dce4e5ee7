import type {
  CatalogueStore,
  CredentialStore,
  IdempotencyStore,
  LedgerReader,
  LedgerStore,
  ProviderRegistry,
  RouteDisabled,
} from '../contracts/index.js'
import { requireFunction, requireFunctions } from '../contracts/option-checks.js'
import { createSqlCatalogue } from './catalogue.js'
import { createSqlCredentials } from './credentials.js'
import type { SqlDatabase } from './database.js'
import { callHost } from './host-call.js'
import { createSqlIdempotency } from './idempotency.js'
import { type AdapterFactories, createSqlRegistry } from './registry.js'
import { createSecretBox, type SecretBox, type SecretKey } from './secret-box.js'

/** What both engines' stores are given. */
export interface DurableStoresOptions {
  /** How to build adapters from the registry's rows, by kind: `{ openai: openaiCompatible }`. */
  readonly adapters?: AdapterFactories
  /** Keys for provider secrets at rest. New ones are sealed under the first; the others still open older ones. */
  readonly secretKeys?: readonly SecretKey[]
  /**
   * Whether the host has put rows of tokens in that administration did not issue. By default a token of another shape than
   * an issued one is unknown without a look-up, so that garbage costs no query.
   */
  readonly otherTokens?: boolean
  /** Told of a route whose row cannot be used; a process warning by default. */
  readonly onEvent?: (event: RouteDisabled) => void
}

/** The names of {@link DurableStoresOptions}. */
export const STORE_OPTIONS: readonly string[] = ['adapters', 'secretKeys', 'otherTokens', 'onEvent']

/** The stores of one database, to hand to `createCompatRouter`, and what administration works on. */
export interface DurableStores {
  readonly credentials: CredentialStore
  readonly catalogue: CatalogueStore
  readonly ledger: LedgerStore & LedgerReader
  readonly providers: ProviderRegistry
  readonly idempotency: IdempotencyStore
  /** For `createAdmin`. */
  readonly database: SqlDatabase
  readonly secrets: SecretBox
  /** As they were given; absent if none were, as in a program that only administers. */
  readonly adapters?: AdapterFactories
  /** Fulfilled when the schema is up to date. Every store waits for it by itself; a host may, to fail at start. */
  ready(): Promise<void>
  /** Commits what waits, ends watches, closes adapters that the registry built. To be called after the router's `close`. */
  close(): Promise<void>
}

export interface DurableParts extends Pick<DurableStores, 'ledger' | 'database' | 'ready' | 'close'> {
  readonly options: DurableStoresOptions
}

/** The stores that only read and write rows, beside an engine's own ledger. */
export function createDurableStores({
  ledger,
  database,
  ready,
  close,
  options,
}: DurableParts): DurableStores {
  requireFunctions(
    'adapters',
    options.adapters ?? {},
    'that makes an adapter from settings',
    '{ openai: openaiCompatible }',
  )
  requireFunction('onEvent', options.onEvent)
  const { onEvent = warn, otherTokens = false } = options
  if (typeof otherTokens !== 'boolean') throw new TypeError('otherTokens must be true or false')
  const secrets = createSecretBox(options.secretKeys)
  const providers = createSqlRegistry({
    database,
    secrets,
    adapters: options.adapters ?? {},
    onEvent: (event) => callHost('onEvent', () => onEvent(event)),
  })
  return {
    credentials: createSqlCredentials(database, otherTokens),
    catalogue: createSqlCatalogue(database),
    ledger,
    providers,
    idempotency: createSqlIdempotency(database),
    database,
    secrets,
    ...(options.adapters === undefined ? {} : { adapters: options.adapters }),
    ready,
    async close() {
      try {
        await providers.close?.()
      } finally {
        await close()
      }
    },
  }
}

function warn({ routeId, why }: RouteDisabled): void {
  process.emitWarning(`compat-router leaves out the route ${JSON.stringify(routeId)}: ${why}`)
}
