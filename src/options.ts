import { z } from 'zod'
import { type Clock, LONGEST_WAIT_MS, monotonicClock, systemClock } from './base/clock.js'
import { createIdSource } from './base/ids.js'
import { parseCredits } from './base/money.js'
import { isWorker } from './base/runtime.js'
import type { Admit } from './contracts/admit.js'
import type { EngineOptions } from './contracts/engine-options.js'
import type { FastPaths } from './contracts/fast-paths.js'
import type {
  CallStore,
  CatalogueStore,
  CredentialStore,
  Envelopes,
  EventError,
  IdempotencyStore,
  LedgerLookUps,
  LedgerStore,
  ProviderRegistry,
  ReasoningName,
  ReasoningNaming,
  RouterEvent,
  RouterSettings,
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
import {
  functionSchema,
  optionsSchema,
  readOptions,
  withDefaults,
  withMethods,
} from './rules/read-options.js'
import { isReasoningName, REASONING_NAMES } from './rules/reasoning-names.js'
import { mustBe } from './rules/schema-faults.js'
import { basePathSchema, creditsSchema, labelSchema, nameSchema } from './rules/schemas.js'

/** The options of a router. The first four are the host's stores; everything else has a default. */
export interface RouterOptions {
  readonly credentials: CredentialStore
  readonly catalogue: CatalogueStore
  /** If it has the methods of `LedgerLookUps`, the router has `GET /key`, `/credits` and `/generation`. */
  readonly ledger: LedgerStore & Partial<LedgerLookUps>
  readonly providers: ProviderRegistry
  /** Opens the sealed provider keys of callers; `keyring()` creates one. If absent, such keys are refused. */
  readonly envelopes?: Envelopes
  /** A store alone is short for `{ store }`. */
  readonly idempotency?: IdempotencyOptions | IdempotencyStore
  /** Keeps how calls ended, including failures and refusals. The latest 1,000 in memory by default. */
  readonly calls?: CallStore
  /** The ledger account that earns the base price. `'platform'` by default. */
  readonly platformAccount?: string
  /** Charges at most the hold, limits the provider's output to it and cuts a stream off there. Off by default. */
  readonly neverOverdraw?: boolean
  /** The fee for a call on the caller's own provider key. Nothing by default. */
  readonly byokFee?: ByokFeeOptions
  /**
   * A sentence for callers who lack credits or have used up a budget, such as `'Top up at
   * https://acme.example/credits.'`. It ends the messages of 402 errors.
   */
  readonly creditHelp?: string
  /** The mount path, if nothing strips it from `req.url`, as on a bare `http` server. */
  readonly basePath?: string
  /**
   * The address of the router's metadata as a protected resource (RFC 9728), such as `resourceMetadata` of
   * `createConnect(…)`. It is named in `www-authenticate`, so that OAuth clients find the authorization server.
   */
  readonly resourceMetadata?: string
  /** `false` disables `GET /openapi.json`. */
  readonly openapi?: boolean
  /** Whether `GET /models` and `GET /models/{model_key}` also answer requests without a credential. Off by default. */
  readonly publicModels?: boolean
  readonly timeouts?: Partial<RouterSettings['timeouts']>
  readonly sizes?: Partial<RouterSettings['sizes']>
  readonly concurrency?: Partial<RouterSettings['concurrency']>
  readonly routing?: Partial<RouterSettings['routing']>
  readonly charging?: Partial<RouterSettings['charging']>
  /** Which parts of the replies of `POST /responses` are kept. */
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
   * How to use a caller's `traceparent` and `tracestate`. `'read'`: they appear in `request-start` events, for spans.
   * `'forward'`: providers get them too. By default they are ignored.
   */
  readonly traceContext?: 'read' | 'forward'
  /**
   * Counts tokens if a provider does not report them. By default a hold counts text by the kinds of its characters, and a
   * charge counts 4 bytes of UTF-8 as a token.
   */
  readonly tokenCounter?: TokenCounter
  /** The shortcuts that are used, all by default; `false` uses none. See {@link FastPaths}. */
  readonly fastPaths?: false | Partial<FastPaths>
  /** For simulations and tests. */
  readonly clock?: Clock
  /** Returns an id that it never returns again. By default 48 bits of time and 80 random bits. */
  readonly newId?: () => string
}

/** The stores of a router in one object, such as {@link RouterOptions.credentials} and those of `sqliteStores(…)`. */
export interface RouterStores
  extends Pick<RouterOptions, 'credentials' | 'catalogue' | 'ledger' | 'providers'> {
  /** Used unless the option `idempotency` names a store. */
  readonly idempotency?: IdempotencyStore
  /** Used unless the option `calls` is a store. */
  readonly calls?: CallStore
}

/** The options of a router whose stores come in one object. A store that is also given separately takes precedence. */
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
   * nothing, and such a request gets a 400.
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

/** The defaults of {@link RouterSettings}. The calls in flight of an account or a credential have no bound by default. */
export const DEFAULTS: RouterSettings = Object.freeze({
  timeouts: Object.freeze({
    bodyIdleMs: 15_000,
    bodyMs: 120_000,
    storeMs: 5_000,
    connectMs: 5_000,
    idleMs: 120_000,
    tokenMs: 300_000,
    totalMs: 900_000,
    clientStallMs: 60_000,
    settleWaitMs: 2_000,
    settleMs: 60_000,
    openStreamAfterMs: 15_000,
  }),
  sizes: Object.freeze({
    bodyBytes: 32 * MEBIBYTE,
    bodyBytesInFlight: 512 * MEBIBYTE,
    memoryBytes: 256 * MEBIBYTE,
    eventBytes: 16 * MEBIBYTE,
    replyBytes: 64 * MEBIBYTE,
  }),
  concurrency: Object.freeze({
    lookUps: 1_000,
    inFlight: 10_000,
  }),
  routing: Object.freeze({
    attempts: 3,
  }),
  charging: Object.freeze({
    holdOutputTokens: 4_096,
  }),
})

const wholeSchema = z.int().min(1).optional()
const waitSchema = z
  .int()
  .min(1)
  .max(LONGEST_WAIT_MS, {
    error: `must be at most ${LONGEST_WAIT_MS}: no timer waits longer than 24.8 days`,
  })
  .optional()

const settingsSchemas = {
  timeouts: optionsSchema<Partial<RouterSettings['timeouts']>>({
    bodyIdleMs: waitSchema,
    bodyMs: waitSchema,
    storeMs: waitSchema,
    connectMs: waitSchema,
    idleMs: waitSchema,
    tokenMs: waitSchema,
    totalMs: waitSchema,
    clientStallMs: waitSchema,
    settleWaitMs: waitSchema,
    settleMs: waitSchema,
    openStreamAfterMs: waitSchema,
  }).optional(),
  sizes: optionsSchema<Partial<RouterSettings['sizes']>>({
    bodyBytes: wholeSchema,
    bodyBytesInFlight: wholeSchema,
    memoryBytes: wholeSchema,
    eventBytes: wholeSchema,
    replyBytes: wholeSchema,
  }).optional(),
  concurrency: optionsSchema<Partial<RouterSettings['concurrency']>>({
    lookUps: wholeSchema,
    inFlight: wholeSchema,
    inFlightPerAccount: wholeSchema,
    inFlightPerCredential: wholeSchema,
  }).optional(),
  routing: optionsSchema<Partial<RouterSettings['routing']>>({
    attempts: wholeSchema,
  }).optional(),
  charging: optionsSchema<Partial<RouterSettings['charging']>>({
    holdOutputTokens: wholeSchema,
  }).optional(),
}

const byokFeeSchema = optionsSchema<ByokFeeOptions>({
  flat: creditsSchema.optional(),
  basisPoints: z.int().min(0).max(MAX_BYOK_BASIS_POINTS).optional(),
})

const idempotencySchema = optionsSchema<IdempotencyOptions>({
  store: withMethods<IdempotencyStore>('claim', 'complete', 'abandon').optional(),
  ttlMs: wholeSchema,
  keepBodies: z.boolean().optional(),
})

const recallSchema = optionsSchema<RecallOptions>({
  maxBytes: z.int().min(MIN_RECALL_BYTES).optional(),
  ttlMs: wholeSchema,
})

const responsesSchema = optionsSchema<ResponsesOptions>({
  recall: z.union([z.literal(false), recallSchema], 'must be false, or an object').optional(),
})

const fastPathsSchema = optionsSchema<Partial<FastPaths>>({
  chunks: z.boolean().optional(),
  lines: z.boolean().optional(),
  messages: z.boolean().optional(),
  splice: z.boolean().optional(),
  turns: z.boolean().optional(),
})

const METADATA = 'a whole address, such as resourceMetadata of createConnect(…)'

/** The options with each store in its own member. */
interface PlacedOptions extends Omit<RouterOptions, 'idempotency'> {
  readonly stores?: RouterStores
  readonly idempotency?: IdempotencyOptions
}

const routerSchema = optionsSchema<PlacedOptions>({
  stores: z
    .custom<RouterStores>(
      isObject,
      'must be an object with credentials, catalogue, ledger and providers, such as sqliteStores(…)',
    )
    .optional(),
  credentials: withMethods<CredentialStore>('resolve'),
  catalogue: withMethods<CatalogueStore>('list', 'get'),
  ledger: withMethods<LedgerStore>('hold', 'settle', 'release', 'balance', 'expireHolds'),
  providers: withMethods<ProviderRegistry>('routes'),
  envelopes: withMethods<Envelopes>('open').optional(),
  idempotency: idempotencySchema.optional(),
  calls: withMethods<CallStore>('record', 'find', 'list').optional(),
  tokenCounter: withMethods<TokenCounter>('tally').optional(),
  platformAccount: nameSchema.optional(),
  neverOverdraw: z.boolean().optional(),
  byokFee: byokFeeSchema.optional(),
  creditHelp: labelSchema.optional(),
  basePath: basePathSchema.optional(),
  resourceMetadata: z.string(mustBe(METADATA)).refine(isAddress, `must be ${METADATA}`).optional(),
  openapi: z.boolean().optional(),
  publicModels: z.boolean().optional(),
  ...settingsSchemas,
  responses: responsesSchema.optional(),
  admit: functionSchema<Admit>().optional(),
  reasoningName: z
    .custom<ReasoningName | ReasoningNaming>(
      (given) => typeof given === 'function' || isReasoningName(given),
      `must be one of ${REASONING_NAMES}, or a function that returns one`,
    )
    .optional(),
  onEvent: z
    .custom<NonNullable<RouterOptions['onEvent']>>(
      (given) => typeof given === 'function' || given === false,
      'must be a function, or false',
    )
    .optional(),
  traceContext: z.enum(['read', 'forward']).optional(),
  fastPaths: z.union([z.literal(false), fastPathsSchema], 'must be false, or an object').optional(),
  clock: withMethods<Clock>('now', 'after').optional(),
  newId: functionSchema<() => string>().optional(),
})

function isAddress(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).href === text
}

/** Checks a host's options and adds the defaults. Throws an `OptionsError` that names the fault and its place. */
export function engineOptions(given: RouterOptions | StoredRouterOptions): EngineOptions {
  const options = readOptions(routerSchema, withStores(given), 'createCompatRouter')
  const { clock = systemClock, idempotency = {}, neverOverdraw = false } = options
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
    platformAccount: options.platformAccount ?? 'platform',
    neverOverdraw,
    byokFee: byokFee(options.byokFee),
    creditHelp: options.creditHelp,
    ...settings(options),
    admit: options.admit,
    reasoningName: options.reasoningName,
    ...listener(options.onEvent, options.clock ?? monotonicClock),
    traceContext: options.traceContext,
    clock: options.clock ?? monotonicClock,
    wallClock: clock,
    newId: options.newId ?? createIdSource(),
    ...counters(options.tokenCounter, neverOverdraw),
    fastPaths: fastPathsOf(options.fastPaths),
    isolatesCalls: isWorker(),
  })
}

function fastPathsOf(given: RouterOptions['fastPaths']): FastPaths {
  const others = given !== false
  const paths = { chunks: others, lines: others, messages: others, splice: others, turns: others, ...given }
  // A turn that one call has begun lets other calls go on.
  return isWorker() ? { ...paths, turns: false } : paths
}

/** Takes each store that is not given separately from `stores`. The schema refuses values that are not objects. */
function withStores(given: RouterOptions | StoredRouterOptions): unknown {
  if (!isObject(given)) return given
  const { stores }: Partial<StoredRouterOptions> = given
  const idempotency = asIdempotencyOptions(given.idempotency)
  if (!isObject(stores)) return { ...given, idempotency }
  return {
    ...given,
    credentials: given.credentials ?? stores.credentials,
    catalogue: given.catalogue ?? stores.catalogue,
    ledger: given.ledger ?? stores.ledger,
    providers: given.providers ?? stores.providers,
    idempotency:
      stores.idempotency === undefined ? idempotency : { store: stores.idempotency, ...idempotency },
    calls: given.calls ?? stores.calls,
  }
}

function isObject<Value>(given: Value): given is Value & object {
  return typeof given === 'object' && given !== null && !Array.isArray(given) && !(given instanceof Promise)
}

function asIdempotencyOptions(given: RouterOptions['idempotency']): IdempotencyOptions | undefined {
  return typeof given === 'object' && given !== null && 'claim' in given ? { store: given } : given
}

/** A host without a listener sees at least the failures. */
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
    // Counting by kinds of characters takes longer. Under neverOverdraw the upper counter determines the hold anyway.
    counter: neverOverdraw ? byteRatioCounter : createTextCounter(),
    replyCounter: byteRatioCounter,
    upperCounter: createByteCounter(),
  }
}

function settings(
  given: Partial<{ readonly [Name in keyof RouterSettings]: Partial<RouterSettings[Name]> }>,
): RouterSettings {
  return {
    timeouts: withDefaults(DEFAULTS.timeouts, given.timeouts),
    sizes: withDefaults(DEFAULTS.sizes, given.sizes),
    concurrency: withDefaults(DEFAULTS.concurrency, given.concurrency),
    routing: withDefaults(DEFAULTS.routing, given.routing),
    charging: withDefaults(DEFAULTS.charging, given.charging),
  }
}

/** Returns how much of recent replies is kept. Undefined if nothing is. */
export function recallBounds({ recall = {} }: ResponsesOptions = {}): Required<RecallOptions> | undefined {
  if (recall === false) return undefined
  return { maxBytes: recall.maxBytes ?? 64 * MEBIBYTE, ttlMs: recall.ttlMs ?? HOUR_MS }
}

function byokFee({ flat = '0', basisPoints = 0 }: ByokFeeOptions = {}) {
  return { flat: parseCredits(flat, 'byokFee.flat'), basisPoints: BigInt(basisPoints) }
}
