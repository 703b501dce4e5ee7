import type { IncomingMessage } from 'node:http'
import { type Credits, parseCredits } from '../../base/money.js'
import { type MarkupTerms, parseMarkup } from '../../base/prices.js'
import type { Awaitable, CatalogueStore, ConnectStore, Markup } from '../../contracts/index.js'
import { refuseUnknown, requireFunction } from '../../rules/option-checks.js'
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
  readonly period?: 'day' | 'month'
  /** The time zone of days and months, such as `'America/New_York'`. UTC by default. */
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
    readonly period: 'day' | 'month'
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
const LOOPBACKS = ['127.0.0.1', '[::1]', 'localhost']

/** The names of all options. The compiler checks that none is missing. */
const OPTIONS: readonly string[] = Object.keys({
  url: true,
  router: true,
  stores: true,
  authenticate: true,
  signIn: true,
  secrets: true,
  host: true,
  cap: true,
  end: true,
  markup: true,
  clientAddress: true,
  introspect: true,
  rates: true,
  onEvent: true,
} satisfies Record<keyof ConnectOptions, true>)

/** Throws a `TypeError` that names the wrong option. */
export function checkOptions(options: ConnectOptions): Settings {
  refuseUnknown(options, OPTIONS, 'createConnect')
  const { authenticate, clientAddress, host, introspect = [], markup, onEvent, secrets, signIn } = options
  const url = checkAddress('url', options.url)
  if (url.pathname === '/') fail('url must have a path of its own, such as https://host.example/connect')
  const { stores } = options
  if (typeof stores?.connect?.findApp !== 'function' || typeof stores.catalogue?.get !== 'function') {
    fail('stores must be postgresStores(…) or sqliteStores(…)')
  }
  if (typeof authenticate !== 'function') {
    fail('authenticate must be a function of the request that returns { account, name }, or undefined')
  }
  if (typeof signIn !== 'function') fail("signIn must be a function that returns the host's login page")
  if (!Array.isArray(secrets) || secrets.length === 0 || !secrets.every(isLong)) {
    fail(`secrets must be strings of ${MIN_SECRET_BYTES} bytes or more, and at least one`)
  }
  requireFunction('createConnect: clientAddress', clientAddress)
  requireFunction('createConnect: onEvent', onEvent)
  for (const { id, secret } of introspect) {
    if (typeof id !== 'string' || id === '' || typeof secret !== 'string' || !isLong(secret)) {
      fail(`introspect must be a list of { id, secret }, with secrets of ${MIN_SECRET_BYTES} bytes or more`)
    }
  }
  return {
    url: url.href,
    router: checkAddress('router', options.router).href,
    store: stores.connect,
    catalogue: stores.catalogue,
    authenticate,
    signIn,
    secrets,
    clientAddress,
    host: checkHost(host),
    cap: checkCap(options.cap),
    end: checkEnd(options.end),
    maxMarkup: markup?.max === undefined ? undefined : parseMarkup(markup.max),
    introspect,
    rates: checkRates(options.rates),
    emit: emitter(onEvent),
  }
}

function fail(what: string): never {
  throw new TypeError(`createConnect: ${what}.`)
}

function isLong(secret: unknown): boolean {
  return typeof secret === 'string' && Buffer.byteLength(secret) >= MIN_SECRET_BYTES
}

/** Parses an https address, or http on loopback, in its normal form and without a trailing slash. */
function checkAddress(name: string, text: unknown): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACKS.includes(url.hostname))
  if (url === undefined || !isSafe || url.search + url.hash + url.username + url.password !== '') {
    fail(
      `${name} must be an https address, or http on loopback, without a query; got ${JSON.stringify(text)}`,
    )
  }
  if (url.href !== text && url.href !== `${text}/`) fail(`${name} must be in its normal form: ${url.href}`)
  if (url.pathname !== '/' && url.pathname.endsWith('/')) fail(`${name} must not end with a slash`)
  return url
}

function checkHost(host: ConnectHost | undefined): Settings['host'] {
  if (typeof host?.name !== 'string' || host.name.trim() === '') fail("host.name must be the host's name")
  for (const name of ['home', 'support'] as const) {
    const link = host[name]
    if (link !== undefined && !/^(https?:\/\/|mailto:)/.test(link)) fail(`host.${name} must be a link`)
  }
  if (host.logo !== undefined && imageType(host.logo) === undefined) {
    fail('host.logo must be the bytes of a PNG, JPEG or WebP file')
  }
  return { ...host, credits: host.credits ?? 'credits' }
}

function checkCap(cap: ConnectCap | undefined): Settings['cap'] {
  if (cap === undefined) fail("cap must be { suggested }, such as { suggested: '5' }")
  const { max, period = 'month', required = true, zone } = cap
  if (period !== 'day' && period !== 'month') fail("cap.period must be 'day' or 'month'")
  if (zone !== undefined) new Intl.DateTimeFormat('en', { timeZone: zone })
  const suggested = parseCredits(cap.suggested, 'cap.suggested')
  const most = max === undefined ? undefined : parseCredits(max, 'cap.max')
  if (most !== undefined && suggested > most) fail('cap.suggested must be at most cap.max')
  return { suggested, max: most, period, zone, required }
}

function checkEnd({ maxDays, suggestedDays }: ConnectEnd = {}): ConnectEnd {
  for (const days of [maxDays, suggestedDays]) {
    if (days !== undefined && !(Number.isInteger(days) && days >= 1 && days <= MAX_DAYS)) {
      fail(`the days of end must be whole numbers from 1 to ${MAX_DAYS}`)
    }
  }
  if (maxDays !== undefined && (suggestedDays ?? 0) > maxDays) {
    fail('end.suggestedDays must be at most end.maxDays')
  }
  return {
    ...(maxDays !== undefined && { maxDays }),
    ...(suggestedDays !== undefined && { suggestedDays }),
  }
}

const DEFAULT_RATES: Required<ConnectRates> = {
  authorizations: 30,
  strangers: 60,
  answers: 10,
  tokens: 60,
  unknownTokens: 20,
}

function checkRates(rates: ConnectRates = {}): Required<ConnectRates> {
  refuseUnknown(rates, Object.keys(DEFAULT_RATES), 'createConnect: rates')
  for (const [name, rate] of Object.entries(rates)) {
    if (!Number.isSafeInteger(rate) || rate < 1) fail(`rates.${name} must be a positive integer`)
  }
  return { ...DEFAULT_RATES, ...rates }
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
