import { buildConnector, Pool } from 'undici'
import { ProviderError } from '../base/errors.js'
import { usesFastPath } from '../base/fast-paths.js'
import { TurnGate } from '../base/turn-gate.js'
import { DispatcherOfHost, type HostDispatcher, requireDispatcher } from './dispatcher.js'
import { credentialsIn, describeFailure, isCredentialHeader } from './hide-credentials.js'
import { UpstreamConnection } from './upstream-connection.js'
import { abortedError, UpstreamExchange } from './upstream-exchange.js'
import type { HeaderList, UpstreamRequest } from './upstream-request.js'

/** A provider's HTTP server, and the connections kept open to it. */
export interface Upstream {
  /**
   * Posts a JSON body and reads the reply as `ProviderAdapter.chat` promises. Rejects with a `ProviderError` for any
   * failure, with credentials removed from the provider's text. Rethrows errors of `take` unchanged.
   */
  post(request: UpstreamRequest): Promise<{ terminated: boolean }>
  /** Closes idle connections at once, and the others when their calls end. */
  close(): Promise<void>
}

type Resolve = (result: { terminated: boolean }) => void

export interface UpstreamSettings {
  /** An http or https URL without credentials, query or fragment. */
  readonly baseUrl: string
  /**
   * Sent with every call. Headers that are credentials, by a name such as `api-key` or `x-proxy-token` or by a value
   * such as `Bearer …`, are not sent with calls on a caller's key.
   */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Sends the calls instead of the adapter's own connections: a `Dispatcher` of undici 7 or later, such as a
   * `ProxyAgent`. It decides how to connect, and how long that may take. The adapter does not close it.
   */
  readonly dispatcher?: HostDispatcher | undefined
}

/**
 * Checks the settings. Throws a `TypeError` that names the wrong setting and never shows a value that may be secret.
 * Each endpoint has a leading slash; a call is posted to one of them under the base URL.
 */
export function createUpstream(
  { baseUrl, headers = {}, dispatcher }: UpstreamSettings,
  ...endpoints: readonly string[]
): Upstream {
  const base = parseBaseUrl(baseUrl, endpoints)
  requireDispatcher(dispatcher)
  const ofHost = dispatcher && new DispatcherOfHost(dispatcher, base.origin)
  const basePath = pathOf(base)
  const fixed = { ...COMMON_HEADERS, ...checkHeaders(headers) }
  const sharedWithCallers = withoutCredentials(fixed)
  const lists = { stream: headersFor(fixed, true), body: headersFor(fixed, false) }
  const turns = new TurnGate(usesFastPath('turns'))
  let pool: Pool | undefined
  let closing: Promise<void> | undefined

  const openPool = (connectMs: number): Pool => {
    const connect = buildConnector({ timeout: connectMs })
    return new Pool(base.origin, {
      maxHeaderSize: HEADERS_BYTES,
      factory: (origin, options) => new UpstreamConnection(origin, options, connect),
    })
  }

  const send = (request: UpstreamRequest, resolve: Resolve, reject: (error: unknown) => void): void => {
    const { auth, limits, signal, stream, trace } = request.call
    if (closing !== undefined) {
      reject(new ProviderError('unreachable', 'The adapter has been closed.'))
      return
    }
    if (signal.aborted) {
      reject(abortedError(signal.reason))
      return
    }
    const onCallersKey = auth.kind === 'byok'
    const always =
      trace === undefined && !onCallersKey
        ? lists[stream ? 'stream' : 'body']
        : headersFor({ ...(onCallersKey ? sharedWithCallers : fixed), ...trace }, stream)
    const headers = [...always, ...request.headers]
    const path = basePath + request.endpoint
    const exchange = new UpstreamExchange(request, turns, resolve, (failure) => {
      const other = request.instead?.(failure)
      if (other === undefined) reject(describeFailure(failure, base.origin + path, credentialsIn(headers)))
      else send(other, resolve, reject)
    })
    if (ofHost === undefined) pool ??= openPool(limits.connectMs)
    exchange.start(ofHost ?? pool!, path, headers)
  }

  return {
    post: (request) => new Promise((resolve, reject) => send(request, resolve, reject)),
    close() {
      closing ??= pool?.close() ?? Promise.resolve()
      return closing
    },
  }
}

/** The most bytes of headers that a reply may have. Node's own limit, 16 KiB, is less than some gateways send. */
const HEADERS_BYTES = 64 * 1024
const COMMON_HEADERS = {
  'user-agent': 'compat-router',
  'content-type': 'application/json',
  'accept-encoding': 'identity',
}
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e]*$/
/** Headers that the call itself or the connection sets. */
const RESERVED_HEADERS = new Set(
  'accept accept-encoding authorization connection content-length content-type expect host keep-alive te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
)

function headersFor(fixed: Readonly<Record<string, string>>, stream: boolean): HeaderList {
  const accept = stream ? 'text/event-stream' : 'application/json'
  return Object.entries({ ...fixed, accept }).flat()
}

function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => !isCredentialHeader(name, value)),
  )
}

function parseBaseUrl(baseUrl: string, endpoints: readonly string[]): URL {
  const wrong = (problem: string) =>
    new TypeError(`baseUrl ${problem}. Give it as 'https://api.example.com/v1'.`)
  if (typeof baseUrl !== 'string') throw wrong('must be a string')
  if (!URL.canParse(baseUrl)) throw wrong('is not an absolute URL')
  const url = new URL(baseUrl)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw wrong('must begin with https: or http:')
  if (url.username !== '' || url.password !== '') throw wrong('must not contain credentials')
  if (baseUrl.includes('?')) throw wrong('must not have a query')
  if (baseUrl.includes('#')) throw wrong('must not have a fragment')
  const endpoint = endpoints.find((candidate) => pathOf(url).endsWith(candidate))
  if (endpoint !== undefined) throw wrong(`must end before ${endpoint}, which the router adds`)
  return url
}

function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '')
}

function checkHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  if (typeof headers !== 'object' || headers === null || Symbol.iterator in headers) {
    throw new TypeError(
      "headers must be an object such as { 'x-team': 'a' }; convert Headers or a Map with Object.fromEntries.",
    )
  }
  const checked: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase()
    if (!HEADER_NAME.test(key)) throw new TypeError(`headers: ${JSON.stringify(name)} is not a header name.`)
    if (RESERVED_HEADERS.has(key))
      throw new TypeError(`headers: '${key}' is set by the router; leave it out.`)
    if (typeof value !== 'string' || !HEADER_VALUE.test(value)) {
      throw new TypeError(`headers: the value of '${key}' must be a string of visible ASCII and spaces.`)
    }
    checked[key] = value
  }
  return checked
}
