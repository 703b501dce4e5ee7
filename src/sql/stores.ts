import { z } from 'zod'
import type {
  AdapterFactory,
  CallStore,
  CatalogueStore,
  ConnectStore,
  CredentialStore,
  IdempotencyStore,
  LedgerLookUps,
  LedgerReader,
  LedgerStore,
  Model,
  ProcessCleared,
  ProviderRegistry,
  RouteDisabled,
  TotalsBehind,
  WatchLost,
  WatchRestored,
} from '../contracts/index.js'
import { functionSchema, functionsSchema, type OptionSchemas } from '../rules/read-options.js'
import { readJson } from './cells.js'
import { createSqlConnect } from './connect.js'
import { createSqlCredentials } from './credentials.js'
import type { SqlDatabase } from './database.js'
import { createSqlIdempotency } from './idempotency.js'
import type { ClearedProcess, Processes } from './processes.js'
import { type AdapterFactories, createSqlRegistry } from './registry.js'
import { createSecretBox, type SecretBox, type SecretKey, secretKeysSchema } from './secret-box.js'
import { UNSTORABLE_PATTERN } from './text.js'
import { callHost } from './watchers.js'

/** The options of both engines' stores. */
export interface DurableStoresOptions {
  /** Functions that build adapters from settings, by kind: `{ openai: openaiCompatible }`. */
  readonly adapters?: AdapterFactories
  /** Keys for provider secrets at rest. The first key seals new secrets; the others still open older ones. */
  readonly secretKeys?: readonly SecretKey[]
  /**
   * Whether the host inserts tokens that administration did not issue. By default, a token that does not look like an issued
   * one is unknown without a look-up, so garbage costs no query.
   */
  readonly otherTokens?: boolean
  /** How long `calls` keeps how calls ended, in milliseconds. 30 days by default. */
  readonly keepCallsMs?: number
  /**
   * Called for a route whose row cannot be used, when changes are no longer reported and when they are again, for each
   * process that was cleared, and when the totals of reports are behind. By default, emits a process warning.
   */
  readonly onEvent?: (event: StoresEvent) => void
}

/** The events of the stores themselves. The router reports all others. */
export type StoresEvent = RouteDisabled | WatchLost | WatchRestored | ProcessCleared | TotalsBehind

export const durableSchemas: OptionSchemas<DurableStoresOptions> = {
  adapters: functionsSchema<AdapterFactory>(
    'that makes an adapter from settings',
    '{ openai: openaiCompatible }',
  ).optional(),
  secretKeys: secretKeysSchema.optional(),
  otherTokens: z.boolean().optional(),
  keepCallsMs: z.int().min(1).optional(),
  onEvent: functionSchema<(event: StoresEvent) => void>().optional(),
}

/** The default of `keepCallsMs`. */
export const KEEP_CALLS_MS = 30 * 24 * 60 * 60 * 1_000

/** The stores of one database, for `createCompatRouter`, and the parts that administration needs. */
export interface DurableStores {
  readonly credentials: CredentialStore
  readonly catalogue: CatalogueStore
  readonly ledger: LedgerStore & LedgerReader & LedgerLookUps
  readonly providers: ProviderRegistry
  readonly idempotency: IdempotencyStore
  readonly calls: CallStore
  /** For `createConnect`: apps, connected apps, and the rows of the authorization server. */
  readonly connect: ConnectStore
  /** For `createAdmin`. */
  readonly database: SqlDatabase
  readonly secrets: SecretBox
  /** The `adapters` of the options. Absent in a program that only administers. */
  readonly adapters?: AdapterFactories
  /** Resolves when the schema is up to date. Every store waits for it; a host may do so at start, to fail early. */
  ready(): Promise<void>
  /** Commits waiting commands, ends watches and closes the registry's adapters. Call it after the router's `close`. */
  close(): Promise<void>
}

export interface DurableParts
  extends Pick<DurableStores, 'calls' | 'ledger' | 'database' | 'ready' | 'close'> {
  readonly options: DurableStoresOptions
  readonly processes: Processes
}

/** Creates the stores that only read and write rows, and adds the engine's ledger. */
export function createDurableStores({
  calls,
  ledger,
  database,
  ready,
  close,
  options,
  processes,
}: DurableParts): DurableStores {
  const secrets = createSecretBox(options.secretKeys)
  const providers = createSqlRegistry({
    database,
    secrets,
    adapters: options.adapters ?? {},
    onEvent: reporter(options),
  })
  const idempotency = createSqlIdempotency(database, processes)
  return {
    credentials: createSqlCredentials(database, options.otherTokens ?? false),
    catalogue: createSqlCatalogue(database),
    ledger,
    providers,
    idempotency,
    calls,
    connect: createSqlConnect(database),
    database,
    secrets,
    ...(options.adapters !== undefined && { adapters: options.adapters }),
    ready,
    async close() {
      idempotency.close()
      try {
        await providers.close?.()
      } finally {
        await close()
      }
    },
  }
}

/** Returns a function that reports an event to the host. It never throws. */
export function reporter({ onEvent = warn }: DurableStoresOptions): (event: StoresEvent) => void {
  return (event) => callHost('onEvent', () => onEvent(event))
}

/** Returns a function that reports a process that was cleared. */
export function clearReporter(options: DurableStoresOptions): (id: string, cleared: ClearedProcess) => void {
  const report = reporter(options)
  return (id, { holds, leases }) => report({ type: 'process-cleared', process: id, holds, keys: leases })
}

/** Returns a function that reports how far the totals are behind. */
export function behindReporter(options: DurableStoresOptions): (behindMs: number) => void {
  const report = reporter(options)
  return (behindMs) => report({ type: 'totals-behind', behindMs })
}

function warn(event: StoresEvent): void {
  process.emitWarning(warningOf(event))
}

function warningOf(event: StoresEvent): string {
  switch (event.type) {
    case 'watch-lost':
      return `The stores of compat-router no longer report changes, so nothing is cached: ${event.why}`
    case 'watch-restored':
      return `The stores of compat-router report changes again after ${Math.round(event.afterMs / 1_000)} seconds`
    case 'route-disabled':
      return `compat-router leaves out the route ${JSON.stringify(event.routeId)}: ${event.why}`
    case 'process-cleared':
      return `compat-router has cleared the process ${event.process}, which no longer responds: ${event.holds} holds and ${event.keys} keys are free`
    case 'totals-behind':
      return event.behindMs === 0
        ? 'compat-router has added all charges to the totals of reports again'
        : `compat-router has not added charges to the totals of reports for ${Math.round(event.behindMs / 1_000)} seconds: reports take longer`
  }
}

/** The host's models, read from the database in the order in which they were first added. */
function createSqlCatalogue(database: SqlDatabase): CatalogueStore {
  return {
    async list() {
      const rows = await database.all({ text: 'select definition from {models} order by position, id' })
      return rows.map((row) => readJson<Model>(row, 'definition'))
    },
    async get(id) {
      // The id comes from a client. If a database cannot store it, no model has it.
      if (UNSTORABLE_PATTERN.test(id)) return undefined
      const [row] = await database.all({
        text: 'select definition from {models} where id = ?1',
        parameters: [id],
      })
      return row === undefined ? undefined : readJson<Model>(row, 'definition')
    },
    watch: (changed, connection) => database.watch('models', changed, connection),
  }
}
