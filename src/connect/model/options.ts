import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { type Credits, parseCredits } from '../../base/money.js'
import { OptionsError } from '../../base/options-error.js'
import { CALENDAR_PERIODS, type CalendarPeriod } from '../../base/periods.js'
import { type MarkupTerms, parseMarkup } from '../../base/prices.js'
import { isSafeAddress } from '../../base/web-address.js'
import type { Awaitable, CatalogueStore, ConnectStore, Markup } from '../../contracts/index.js'
import { functionSchema, optionsSchema, readOptions, withDefaults } from '../../rules/read-options.js'
import { mustBe } from '../../rules/schema-faults.js'
import { creditsSchema, markupSchema, zoneSchema } from '../../rules/schemas.js'
import type { ConnectEvent } from './events.js'
import { imageType } from './images.js'

/** The user of a request, as the host knows it. */
export interface ConnectUser {
  /** The ledger account that pays. */
  readonly account: string
  /** The name that the page shows: "Signed in as …". */
  readonly name: string
}

export interface ConnectOptions {
  /** The issuer, and the address of all pages: `https://host.example/connect`. `http` only on loopback. */
  readonly url: string
  /** The router's public address, which all tokens are for: `https://host.example/compat/v1`. */
  readonly router: string
  /** `postgresStores(…)` or `sqliteStores(…)`. */
  readonly stores: ConnectStores
  /** Returns the user who is signed in to the host, or undefined. Called several times in one authorization. */
  readonly authenticate: (req: IncomingMessage) => Awaitable<ConnectUser | undefined | null>
  /**
   * Returns the address of the host's login page. `returnTo` is a path under `url` on its origin, with a query.
   * Redirect there after the login, and refuse all other targets.
   */
  readonly signIn: (returnTo: string) => string
  /**
   * Secrets of at least 32 bytes each, the same in all processes. The first one signs cookies and forms, and all of
   * them verify.
   */
  readonly secrets: readonly string[]
  readonly host: ConnectHost
  readonly cap: ConnectCap
  readonly end?: ConnectEnd
  /** The highest markup that any app may have. */
  readonly markup?: { readonly max?: Markup }
  /** Returns the client's address if there is a proxy in front of the host. Defaults to the address of the socket. */
  readonly clientAddress?: (req: IncomingMessage) => string | undefined
  /** Resource servers that may introspect all tokens, with HTTP Basic. An app may introspect its own. */
  readonly introspect?: readonly { readonly id: string; readonly secret: string }[]
  /** How many requests each process answers within a minute. */
  readonly rates?: ConnectRates
  /** Receives every event. Its errors are swallowed. */
  readonly onEvent?: (event: ConnectEvent) => void
}

/** The stores that Connect uses, as durable stores have them. */
export interface ConnectStores {
  readonly connect: ConnectStore
  /** Provides the names and prices of models. */
  readonly catalogue: CatalogueStore
  ready(): Promise<void>
}

/** How the pages show the host. */
export interface ConnectHost {
  readonly name: string
  /** The bytes of a PNG, JPEG or WebP file. */
  readonly logo?: Uint8Array
  /** A link to the host's home page. */
  readonly home?: string
  /** A link to help. */
  readonly support?: string
  /** The name of a unit of credit, `credits` by default. */
  readonly credits?: string
}

/** The budget that a user gives an app. It covers everything that the user pays for the app's calls, including markup. */
export interface ConnectCap {
  /** Prefilled, unless the app suggests less. A decimal string of credits. */
  readonly suggested: string
  readonly max?: string
  /** `month` by default. */
  readonly period?: CalendarPeriod
  /** The time zone of days, weeks and months, such as `'America/New_York'`. UTC by default. */
  readonly zone?: string
  /** Whether users must set a cap. `true` by default. */
  readonly required?: boolean
}

/** Requests per minute in each process. Further ones get a 429 with `retry-after`. */
export interface ConnectRates {
  /** Authorizations per account. 30 by default. */
  readonly authorizations?: number
  /** Authorizations per address if nobody is signed in. 60 by default. */
  readonly strangers?: number
  /** Answers per account on the consent page. 10 by default. */
  readonly answers?: number
  /**
   * Requests per app and user with codes and tokens to the endpoints for tokens, revocation and introspection. 60 by
   * default. Introspections of unknown tokens count by address.
   */
  readonly tokens?: number
  /** Requests per address with codes and tokens that do not exist. 20 by default. They do not slow down other requests. */
  readonly unknownTokens?: number
}

/** The expiry of a connected app's access. */
export interface ConnectEnd {
  /** Preselected. Defaults to the longest that is allowed. */
  readonly suggestedDays?: number
  /** If absent, users may choose that access does not expire. */
  readonly maxDays?: number
}

/** Checked options, with all defaults. */
export interface Settings
  extends Pick<ConnectOptions, 'authenticate' | 'signIn' | 'clientAddress' | 'secrets'> {
  readonly store: ConnectStore
  readonly catalogue: CatalogueStore
  readonly url: string
  readonly router: string
  readonly host: ConnectHost & { readonly credits: string }
  readonly cap: {
    readonly suggested: Credits
    readonly max: Credits | undefined
    readonly period: CalendarPeriod
    readonly zone: string | undefined
    readonly required: boolean
  }
  readonly end: ConnectEnd
  readonly maxMarkup: MarkupTerms | undefined
  readonly rates: Required<ConnectRates>
  readonly introspect: NonNullable<ConnectOptions['introspect']>
  readonly emit: (event: ConnectEvent) => void
}

const MIN_SECRET_BYTES = 32
const MAX_DAYS = 3_650
const DEFAULT_RATES: Required<ConnectRates> = {
  authorizations: 30,
  strangers: 60,
  answers: 10,
  tokens: 60,
  unknownTokens: 20,
}
const ADDRESS = 'an https address, or http on loopback, without a query'

/** An address in its normal form, without a trailing slash. */
const addressSchema = z.string(mustBe(ADDRESS)).superRefine((text, context) => {
  const fault = addressFault(text)
  if (fault !== undefined) context.addIssue(fault)
})
const secretSchema = z
  .string()
  .refine(
    (secret) => Buffer.byteLength(secret) >= MIN_SECRET_BYTES,
    `must have ${MIN_SECRET_BYTES} bytes or more`,
  )
const linkSchema = z
  .string()
  .regex(/^(https?:\/\/|mailto:)/, 'must be a link, such as https://host.example/help')
const daysSchema = z.int().min(1).max(MAX_DAYS)
const rateSchema = z.int().min(1).optional()

const hostSchema = optionsSchema<ConnectHost>({
  name: z.string().regex(/\S/, "must be the host's name"),
  logo: z
    .custom<Uint8Array>(
      (bytes) => imageType(bytes) !== undefined,
      'must be the bytes of a PNG, JPEG or WebP file',
    )
    .optional(),
  home: linkSchema.optional(),
  support: linkSchema.optional(),
  credits: z.string().optional(),
})

const capSchema = optionsSchema<ConnectCap>({
  suggested: creditsSchema,
  max: creditsSchema.optional(),
  period: z.enum(CALENDAR_PERIODS).optional(),
  zone: zoneSchema.optional(),
  required: z.boolean().optional(),
})

const endSchema = optionsSchema<ConnectEnd>({
  suggestedDays: daysSchema.optional(),
  maxDays: daysSchema.optional(),
}).refine(({ maxDays = MAX_DAYS, suggestedDays = 1 }) => suggestedDays <= maxDays, {
  path: ['suggestedDays'],
  error: 'must be at most end.maxDays',
})

const ratesSchema = optionsSchema<ConnectRates>({
  authorizations: rateSchema,
  strangers: rateSchema,
  answers: rateSchema,
  tokens: rateSchema,
  unknownTokens: rateSchema,
})

const connectSchema = optionsSchema<ConnectOptions>({
  url: addressSchema.refine(
    (text) => !URL.canParse(text) || new URL(text).pathname !== '/',
    'must have a path of its own, such as https://host.example/connect',
  ),
  router: addressSchema,
  stores: z.custom<ConnectStores>(
    (given) =>
      typeof Object(Object(given).connect).findApp === 'function' &&
      typeof Object(Object(given).catalogue).get === 'function',
    'must be postgresStores(…) or sqliteStores(…)',
  ),
  authenticate: functionSchema('of the request that returns { account, name }, or undefined'),
  signIn: functionSchema("that returns the address of the host's login page"),
  secrets: z.array(secretSchema).min(1),
  host: hostSchema,
  cap: capSchema,
  end: endSchema.optional(),
  markup: optionsSchema<NonNullable<ConnectOptions['markup']>>({ max: markupSchema.optional() }).optional(),
  clientAddress: functionSchema<NonNullable<ConnectOptions['clientAddress']>>().optional(),
  introspect: z.array(z.strictObject({ id: z.string().min(1), secret: secretSchema })).optional(),
  rates: ratesSchema.optional(),
  onEvent: functionSchema<NonNullable<ConnectOptions['onEvent']>>().optional(),
})

/** Checks the options and adds the defaults. Throws an `OptionsError` that names the wrong option. */
export function checkOptions(given: ConnectOptions): Settings {
  const options = readOptions(connectSchema, given, 'createConnect')
  const { cap, end = {}, host, introspect = [], markup, rates, stores } = options
  return {
    url: new URL(options.url).href,
    router: new URL(options.router).href,
    store: stores.connect,
    catalogue: stores.catalogue,
    authenticate: options.authenticate,
    signIn: options.signIn,
    secrets: options.secrets,
    clientAddress: options.clientAddress,
    host: { ...host, credits: host.credits ?? 'credits' },
    cap: readCap(cap),
    end,
    maxMarkup: markup?.max === undefined ? undefined : parseMarkup(markup.max),
    introspect,
    rates: withDefaults(DEFAULT_RATES, rates),
    emit: emitter(options.onEvent),
  }
}

function addressFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !isSafeAddress(url)) return `must be ${ADDRESS}`
  if (url.search + url.hash + url.username + url.password !== '') return `must be ${ADDRESS}`
  if (url.href !== text && url.href !== `${text}/`) return `must be in its normal form: ${url.href}`
  return url.pathname !== '/' && url.pathname.endsWith('/') ? 'must not end with a slash' : undefined
}

/** Throws an `OptionsError` if more is suggested than allowed. */
function readCap({ max, period = 'month', required = true, suggested, zone }: ConnectCap): Settings['cap'] {
  const cap = {
    suggested: parseCredits(suggested),
    max: max === undefined ? undefined : parseCredits(max),
    period,
    zone,
    required,
  }
  if (cap.max === undefined || cap.suggested <= cap.max) return cap
  throw new OptionsError({
    code: 'invalid_option',
    where: 'createConnect',
    field: 'cap.suggested',
    problem: `must be at most cap.max; got ${suggested}`,
  })
}

function emitter(onEvent: ConnectOptions['onEvent']): Settings['emit'] {
  return (event) => {
    try {
      onEvent?.(Object.freeze(event))
    } catch {
      // The host's listener must not fail a request.
    }
  }
}
