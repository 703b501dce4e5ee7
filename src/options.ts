import { z } from 'zod'
import { type Clock, LONGEST_WAIT_MS, monotonicClock, systemClock } from './base/clock.js'
import { usesFastPath } from './base/fast-paths.js'
import { createIdSource } from './base/ids.js'
import { parseCredits } from './base/money.js'
import type { Admit } from './contracts/admit.js'
import type { EngineOptions } from './contracts/engine-options.js'
import type {
  CallStore,
  CatalogueStore,
  CredentialStore,
  Envelopes,
  EventError,
  IdempotencyStore,
  LedgerLookUps,
  LedgerStore,
  Limits,
  ProviderRegistry,
  ReasoningName,
  ReasoningNaming,
  RouterEvent,
} from './contracts/index.js'
import type { TokenCounter } from './contracts/token-counter.js'
import {
  byteRatioCounter,
  checkedCounter,
  createByteCounter,
  createTextCounter,
} from './engine/charging/token-counters.js'
import { createEmitter } from './engine/events/emitter.js'
import { memoryCalls, memoryIdempotency } from './memory/index.js'
import { printFailures } from './print-failures.js'
import { refuseMisspelt, requireFunction, requireMethods } from './rules/option-checks.js'
import { isReasoningName, REASONING_NAMES } from './rules/reasoning-names.js'
import { describeFieldless } from './rules/schema-faults.js'
import { creditsSchema, labelSchema, nameSchema, parseInput } from './rules/schemas.js'

/** The options of a router. The first four are the host's stores; everything else has a default. */
export interface RouterOptions {
  readonly credentials: CredentialStore
  readonly catalogue: CatalogueStore
  /** With the methods of `LedgerLookUps`, there are `GET /key`, `/credits` and `/generation`. */
  readonly ledger: LedgerStore & Partial<LedgerLookUps>
  readonly providers: ProviderRegistry
  /** Opens the sealed provider keys of callers; `keyring()` creates one. If absent, such keys are refused. */
  readonly envelopes?: Envelopes
  /** A store alone is short for `{ store }`. */
  readonly idempotency?: IdempotencyOptions | IdempotencyStore
  /** Keeps how calls ended, failures and refusals included. The latest 1,000 in memory by default. */
  readonly calls?: CallStore
  /** The ledger account that earns the base price. `'platform'` by default. */
  readonly platformAccount?: string
  /** Charges at most the hold, limits the provider's output to it and cuts a stream off there. Off by default. */
  readonly neverOverdraw?: boolean
  /** The fee for a call on the caller's own provider key. Nothing by default. */
  readonly byokFee?: ByokFeeOptions
  /**
   * A sentence for callers who lack credits or have used up a budget, such as `'Top up at https://acme.example/credits.'`.
   * The messages of 402 end with it.
   */
  readonly creditHelp?: string
  /** The mount path, if nothing strips it from `req.url`, as on a bare `http` server. */
  readonly basePath?: string
  /**
   * The address of the metadata of the router as a protected resource (RFC 9728), such as `resourceMetadata` of
   * `createConnect(…)`. It is named in `www-authenticate`, so that OAuth clients find the authorization server.
   */
  readonly resourceMetadata?: string
  /** `false` turns `GET /openapi.json` off. */
  readonly openapi?: boolean
  /** Whether `GET /models` and `GET /models/{model_key}` also answer requests without a credential. Off by default. */
  readonly publicModels?: boolean
  readonly limits?: Partial<Limits>
  /** What is kept of the replies of `POST /responses`. */
  readonly responses?: ResponsesOptions
  /** The host's own limiter. A throw refuses with 503 `overloaded`. */
  readonly admit?: Admit
  /**
   * The field in which clients get the model's reasoning, or a function that chooses it for each request. By default
   * `reasoning`, if the client is known to read no other field, and otherwise `reasoning_content`.
   */
  readonly reasoningName?: ReasoningName | ReasoningNaming
  /**
   * Receives every event. Its errors are swallowed; the first one emits a warning. If absent, failures are printed with
   * `console.error`, each kind at most once in ten seconds. `false` prints nothing.
   */
  readonly onEvent?: ((event: RouterEvent) => unknown) | false
  /**
   * The use of a caller's `traceparent` and `tracestate`. `'read'`: they are in `request-start` events, for spans.
   * `'forward'`: providers get them too. By default they are ignored.
   */
  readonly traceContext?: 'read' | 'forward'
  /**
   * Counts tokens if a provider does not report them. By default a hold counts text by the kinds of its characters, and a
   * charge counts 4 bytes of UTF-8 as a token.
   */
  readonly tokenCounter?: TokenCounter
  /** For simulations and tests. */
  readonly clock?: Clock
  /** Returns an id that it never returns again. By default 48 bits of time and 80 random bits. */
  readonly newId?: () => string
}

/** The stores of a router in one object, such as {@link RouterOptions.credentials} and those of `sqliteStores(…)`. */
export interface RouterStores
  extends Pick<RouterOptions, 'credentials' | 'catalogue' | 'ledger' | 'providers'> {
  /** Used unless `idempotency` of the options names a store. */
  readonly idempotency?: IdempotencyStore
  /** Used unless `calls` of the options is a store. */
  readonly calls?: CallStore
}

/** The options of a router whose stores come in one object. A store that is also given alone replaces that of the object. */
export interface StoredRouterOptions
  extends Omit<RouterOptions, 'credentials' | 'catalogue' | 'ledger' | 'providers'>,
    Partial<Pick<RouterOptions, 'credentials' | 'catalogue' | 'ledger' | 'providers'>> {
  readonly stores: RouterStores
}

/** How replies are kept for requests with an `Idempotency-Key`. */
export interface IdempotencyOptions {
  /** In memory by default, 64 MiB. */
  readonly store?: IdempotencyStore
  /** How long a reply can be replayed. 24 hours by default. */
  readonly ttlMs?: number
  /** `false` keeps no bodies: a repeat then gets the charge, without the reply. */
  readonly keepBodies?: boolean
}

/** Settings of `POST /responses`. */
export interface ResponsesOptions {
  /**
   * How much of recent replies is kept in memory, so that a request can name their items by their ids. `false` keeps
   * nothing: such a request gets 400.
   */
  readonly recall?: false | RecallOptions
}

/** The bounds of the recent replies of `POST /responses`. */
export interface RecallOptions {
  /**
   * The maximum size of all items in bytes, at least 65,536. 64 MiB by default. An account may use a quarter of it. Beyond
   * that, the least recently used items are dropped.
   */
  readonly maxBytes?: number
  /** How long an item is kept after its last use. An hour by default. */
  readonly ttlMs?: number
}

/** The fee for a call on the caller's own provider key: the sum of both parts. */
export interface ByokFeeOptions {
  /** Credits per call, a decimal string. */
  readonly flat?: string
  /** A share of the list price of the same usage: an integer from 0 to 10,000, which is the whole price. */
  readonly basisPoints?: number
}

const MEBIBYTE = 1_024 * 1_024
const HOUR_MS = 60 * 60 * 1_000
const DAY_MS = 24 * HOUR_MS
const MIN_RECALL_BYTES = 65_536
const MAX_BYOK_BASIS_POINTS = 10_000

/** The defaults of `limits`. The calls in flight of an account or a credential have no limit by default. */
export const DEFAULT_LIMITS: Limits = Object.freeze({
  bodyBytes: 32 * MEBIBYTE,
  bodyBytesInFlight: 512 * MEBIBYTE,
  memoryBytes: 256 * MEBIBYTE,
  bodyIdleMs: 15_000,
  bodyMs: 120_000,
  lookUps: 1_000,
  storeMs: 5_000,
  connectMs: 5_000,
  idleMs: 120_000,
  tokenMs: 300_000,
  totalMs: 900_000,
  clientStallMs: 60_000,
  eventBytes: 16 * MEBIBYTE,
  replyBytes: 64 * MEBIBYTE,
  settleWaitMs: 2_000,
  settleMs: 60_000,
  openStreamAfterMs: 15_000,
  holdOutputTokens: 4_096,
  attempts: 3,
  inFlight: 10_000,
})

const wholeSchema = z.int().min(1)
const waitSchema = wholeSchema.max(LONGEST_WAIT_MS, {
  error: `must be at most ${LONGEST_WAIT_MS}: no timer waits longer than 24.8 days`,
})
const limitsSchema = z.strictObject(
  Object.fromEntries(
    [...Object.keys(DEFAULT_LIMITS), 'inFlightPerAccount', 'inFlightPerCredential'].map((name) => [
      name,
      (name.endsWith('Ms') ? waitSchema : wholeSchema).optional(),
    ]),
  ),
)

const byokFeeSchema = z.strictObject({
  flat: creditsSchema.optional(),
  basisPoints: z.int().min(0).max(MAX_BYOK_BASIS_POINTS).optional(),
})
const idempotencySchema = z.strictObject({
  store: z.unknown().optional(),
  ttlMs: wholeSchema.optional(),
  keepBodies: z.boolean().optional(),
})
const responsesSchema = z.strictObject({
  recall: z
    .union([
      z.literal(false),
      z.strictObject({ maxBytes: z.int().min(MIN_RECALL_BYTES).optional(), ttlMs: wholeSchema.optional() }),
    ])
    .optional(),
})

/** The name of every option. The compiler checks that none is missing. */
const OPTIONS: readonly string[] = Object.keys({
  credentials: true,
  catalogue: true,
  ledger: true,
  providers: true,
  stores: true,
  envelopes: true,
  idempotency: true,
  calls: true,
  platformAccount: true,
  neverOverdraw: true,
  byokFee: true,
  creditHelp: true,
  basePath: true,
  resourceMetadata: true,
  openapi: true,
  publicModels: true,
  limits: true,
  responses: true,
  admit: true,
  reasoningName: true,
  onEvent: true,
  traceContext: true,
  tokenCounter: true,
  clock: true,
  newId: true,
} satisfies Record<keyof StoredRouterOptions, true>)

const STORE_METHODS = {
  credentials: ['resolve'],
  catalogue: ['list', 'get'],
  ledger: ['hold', 'settle', 'release', 'balance', 'expireHolds'],
  providers: ['routes'],
} as const

/** Checks a host's options and adds the defaults. Throws a `TypeError` that names the fault and its place. */
export function engineOptions(given: RouterOptions | StoredRouterOptions): EngineOptions {
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(
      'createCompatRouter takes an object with credentials, catalogue, ledger and providers, or with stores.',
    )
  }
  refuseFieldless(given, 'options')
  const options = withStores(given)
  for (const [name, methods] of Object.entries(STORE_METHODS)) {
    requireParts(name, options[name as keyof typeof STORE_METHODS], methods)
  }
  if (options.envelopes !== undefined) requireParts('envelopes', options.envelopes, ['open'])
  const idempotency = idempotencyOptions(options.idempotency)
  if (options.calls !== undefined) requireParts('calls', options.calls, ['record', 'find', 'list'])
  if (options.tokenCounter !== undefined) requireParts('tokenCounter', options.tokenCounter, ['tally'])
  refuseMisspelt(options, OPTIONS, 'createCompatRouter')
  requireBoolean('neverOverdraw', options.neverOverdraw)
  requireBoolean('openapi', options.openapi)
  requireBoolean('publicModels', options.publicModels)
  requireAddress(options.resourceMetadata)
  requireTraceContext(options.traceContext)
  requireReasoningName(options.reasoningName)
  requireFunction('createCompatRouter: admit', options.admit)
  if (options.onEvent !== false) requireFunction('createCompatRouter: onEvent', options.onEvent)
  requireFunction('createCompatRouter: newId', options.newId)
  if (options.clock !== undefined) requireParts('clock', options.clock, ['now', 'after'])
  const clock = options.clock ?? systemClock
  const { neverOverdraw = false } = options
  return Object.freeze({
    credentials: options.credentials,
    catalogue: options.catalogue,
    ledger: options.ledger,
    providers: options.providers,
    envelopes: options.envelopes,
    idempotency: {
      store: idempotency.store ?? memoryIdempotency({ clock }),
      ttlMs: idempotency.ttlMs ?? DAY_MS,
      keepBodies: idempotency.keepBodies ?? true,
    },
    calls: options.calls ?? memoryCalls(),
    platformAccount: read(nameSchema, options.platformAccount ?? 'platform', 'platformAccount'),
    neverOverdraw,
    byokFee: byokFee(options.byokFee),
    creditHelp: read(labelSchema.optional(), options.creditHelp, 'creditHelp'),
    limits: limits(options.limits),
    admit: options.admit,
    reasoningName: options.reasoningName,
    ...listener(options.onEvent, options.clock ?? monotonicClock),
    traceContext: options.traceContext,
    clock: options.clock ?? monotonicClock,
    wallClock: clock,
    newId: options.newId ?? createIdSource(),
    ...counters(options.tokenCounter, neverOverdraw),
    splice: usesFastPath('splice'),
  })
}

/** Takes each store that is not given alone from `stores`. */
function withStores(options: RouterOptions | StoredRouterOptions): RouterOptions {
  if (!('stores' in options) || options.stores === undefined) return options as RouterOptions
  const { stores, ...rest } = options
  if (typeof stores !== 'object' || stores === null) {
    throw new TypeError(
      'createCompatRouter: stores must be an object with credentials, catalogue, ledger and providers, such as sqliteStores(…).',
    )
  }
  const { calls, catalogue, credentials, idempotency, ledger, providers } = stores
  return {
    ...rest,
    credentials: rest.credentials ?? credentials,
    catalogue: rest.catalogue ?? catalogue,
    ledger: rest.ledger ?? ledger,
    providers: rest.providers ?? providers,
    ...(idempotency !== undefined && { idempotency: withStore(rest.idempotency, idempotency) }),
    ...(calls !== undefined && { calls: rest.calls ?? calls }),
  }
}

function withStore(
  given: RouterOptions['idempotency'],
  store: IdempotencyStore,
): NonNullable<RouterOptions['idempotency']> {
  if (given === undefined) return store
  if (typeof given !== 'object' || given === null || 'claim' in given) return given
  return { ...given, store: given.store ?? store }
}

/** A host without a listener sees at least its failures. */
function listener(onEvent: RouterOptions['onEvent'], clock: Clock): Pick<EngineOptions, 'emit' | 'heard'> {
  if (onEvent === false) return { emit: createEmitter(undefined, warn), heard: 'none' }
  if (onEvent !== undefined) return { emit: createEmitter(onEvent, warn), heard: 'all' }
  const print = printFailures(
    (line) => console.error(line),
    () => clock.now(),
  )
  return { emit: createEmitter(print, warn), heard: 'failed' }
}

function warn({ message, name }: EventError): void {
  process.emitWarning(`onEvent of compat-router failed: ${name}: ${message}`, {
    code: 'COMPAT_ROUTER_ON_EVENT',
  })
}

/** A host's own counter is used for everything. */
function counters(
  given: TokenCounter | undefined,
  neverOverdraw: boolean,
): Pick<EngineOptions, 'counter' | 'replyCounter' | 'upperCounter'> {
  if (given !== undefined) {
    const counter = checkedCounter(given)
    return { counter, replyCounter: counter, upperCounter: counter }
  }
  return {
    // Counting by kinds of characters takes longer. Under neverOverdraw the upper counter sizes the hold anyway.
    counter: neverOverdraw ? byteRatioCounter : createTextCounter(),
    replyCounter: byteRatioCounter,
    upperCounter: createByteCounter(),
  }
}

function requireParts(name: string, store: unknown, methods: readonly string[]): void {
  requireMethods(`createCompatRouter: ${name}`, store, methods)
}

function idempotencyOptions(given: IdempotencyOptions | IdempotencyStore = {}) {
  const isStore = typeof given === 'object' && given !== null && 'claim' in given
  const { store, ...rest } = read(idempotencySchema, isStore ? { store: given } : given, 'idempotency')
  if (store !== undefined) {
    requireParts('idempotency.store', store, ['claim', 'complete', 'abandon'])
  }
  return { ...rest, store: store as IdempotencyStore | undefined }
}

function requireBoolean(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') {
    throw new TypeError(`createCompatRouter: ${name} must be true or false.`)
  }
}

function requireAddress(value: unknown): void {
  if (value === undefined) return
  const isHttp = typeof value === 'string' && /^https?:/.test(value)
  if (isHttp && URL.canParse(value) && new URL(value).href === value) return
  throw new TypeError(
    'createCompatRouter: resourceMetadata must be a whole address, such as resourceMetadata of createConnect(…).',
  )
}

function requireTraceContext(value: unknown): void {
  if (value !== undefined && value !== 'read' && value !== 'forward') {
    throw new TypeError("createCompatRouter: traceContext must be 'read' or 'forward', or left out.")
  }
}

function requireReasoningName(value: unknown): void {
  if (value === undefined || typeof value === 'function' || isReasoningName(value)) return
  throw new TypeError(
    `createCompatRouter: reasoningName must be one of ${REASONING_NAMES}, or a function that returns one.`,
  )
}

function limits(given: unknown = {}): Limits {
  const set = Object.entries(read(limitsSchema, given, 'limits')).filter(([, value]) => value !== undefined)
  return Object.freeze({ ...DEFAULT_LIMITS, ...Object.fromEntries(set) })
}

function read<Output>(schema: z.ZodType<Output>, given: unknown, name: string): Output {
  refuseFieldless(given, name)
  return parseInput(schema, given, `createCompatRouter: ${name}`)
}

function refuseFieldless(given: unknown, name: string): void {
  const fault = describeFieldless(given)
  if (fault !== undefined) throw new TypeError(`createCompatRouter: ${name}: ${fault}`)
}

/** Returns how much is kept of recent replies, or undefined if nothing is. Throws a `TypeError` for other settings. */
export function recallBounds(given: unknown = {}): Required<RecallOptions> | undefined {
  const { recall = {} } = read(responsesSchema, given, 'responses')
  if (recall === false) return undefined
  return { maxBytes: recall.maxBytes ?? 64 * MEBIBYTE, ttlMs: recall.ttlMs ?? HOUR_MS }
}

function byokFee(given: unknown = {}) {
  const { flat = '0', basisPoints = 0 } = read(byokFeeSchema, given, 'byokFee')
  return { flat: parseCredits(flat, 'byokFee.flat'), basisPoints: BigInt(basisPoints) }
}
