import { z } from 'zod'
import { openSender } from '#sender'
import { isAborted } from '../base/call-abort.js'
import { ProviderError } from '../base/errors.js'
import { TurnGate } from '../base/turn-gate.js'
import type { OptionSchemas } from '../rules/read-options.js'
import { mustBe } from '../rules/schema-faults.js'
import { DispatcherOfHost, dispatcherSchema, type HostDispatcher } from '../upstream/dispatcher.js'
import type { HeaderList, Sender } from '../upstream/sender.js'
import { credentialsIn, describeFailure, isCredentialHeader } from './hide-credentials.js'
import { abortedError, UpstreamExchange } from './upstream-exchange.js'
import type { UpstreamRequest } from './upstream-request.js'

/** A provider's HTTP server, and the connections kept open to it. */
export interface Upstream {
  /**
   * Posts a JSON body and reads the reply as `ProviderAdapter.chat` promises. Rejects with a `ProviderError` for any
   * failure, with credentials removed from the provider's text. Rethrows errors of `prepare` and `take` unchanged.
   */
  post(prepare: () => UpstreamRequest): Promise<{ terminated: boolean }>
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

/** Creates the connections to a server, from settings that match {@link upstreamSchemas}. */
export function createUpstream({ baseUrl, headers = {}, dispatcher }: UpstreamSettings): Upstream {
  const base = new URL(baseUrl)
  const ofHost = dispatcher && new DispatcherOfHost(dispatcher, base.origin)
  const basePath = pathOf(base)
  const fixed = { ...COMMON_HEADERS, ...lowerNames(headers) }
  const sharedWithCallers = withoutCredentials(fixed)
  const lists = { stream: headersFor(fixed, true), body: headersFor(fixed, false) }
  const turns = new TurnGate(true)
  const noTurns = new TurnGate(false)
  let own: Sender | undefined
  let closing: Promise<void> | undefined

  const send = (request: UpstreamRequest, resolve: Resolve, reject: (error: unknown) => void): void => {
    const { auth, fastPaths, timeouts, stream, trace } = request.call
    if (closing !== undefined) {
      reject(new ProviderError('unreachable', 'The adapter has been closed.'))
      return
    }
    if (isAborted(request.call)) {
      reject(abortedError(request.call.signal.reason))
      return
    }
    const onCallersKey = auth.kind === 'byok'
    const always =
      trace === undefined && !onCallersKey
        ? lists[stream ? 'stream' : 'body']
        : headersFor({ ...(onCallersKey ? sharedWithCallers : fixed), ...trace }, stream)
    const headers = always.concat(request.headers)
    const path = basePath + request.endpoint
    const gate = fastPaths?.turns === false ? noTurns : turns
    const exchange = new UpstreamExchange(request, gate, resolve, (failure) => {
      const other = request.instead?.(failure)
      if (other !== undefined) {
        send(other, resolve, reject)
        return
      }
      const explained = request.explain === undefined ? failure : request.explain(failure)
      reject(describeFailure(explained, base.origin + path, credentialsIn(headers)))
    })
    if (ofHost === undefined) own ??= openSender(base.origin, timeouts.connectMs)
    exchange.start(ofHost ?? own!, path, headers)
  }

  return {
    post: (prepare) => new Promise((resolve, reject) => send(prepare(), resolve, reject)),
    close() {
      closing ??= own?.close() ?? Promise.resolve()
      return closing
    },
  }
}

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

const BASE_URL = "an absolute URL, such as 'https://api.example.com/v1'"

/** Each endpoint has a leading slash; a call is posted to one of them under the base URL. */
function baseUrlSchema(endpoints: readonly string[]) {
  return z.string(mustBe(BASE_URL)).superRefine((baseUrl, context) => {
    const problem = describeBaseUrl(baseUrl, endpoints)
    if (problem !== undefined) context.addIssue(`${problem}. Give it as 'https://api.example.com/v1'`)
  })
}

function describeBaseUrl(baseUrl: string, endpoints: readonly string[]): string | undefined {
  if (!URL.canParse(baseUrl)) return 'is not an absolute URL'
  const url = new URL(baseUrl)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https: or http:'
  if (url.username !== '' || url.password !== '') return 'must not contain credentials'
  if (baseUrl.includes('?')) return 'must not have a query'
  if (baseUrl.includes('#')) return 'must not have a fragment'
  const endpoint = endpoints.find((candidate) => pathOf(url).endsWith(candidate))
  return endpoint === undefined ? undefined : `must end before ${endpoint}, which the router adds`
}

function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '')
}

/** Headers for each call. `own` has the names of those that the adapter sets itself, with what to use instead. */
export function headersSchema(own: ReadonlyMap<string, string> = new Map()) {
  const fault =
    "must be an object such as { 'x-team': 'a' }; convert Headers or a Map with Object.fromEntries"
  const isObject = (given: unknown) =>
    typeof given === 'object' && given !== null && !(Symbol.iterator in given)
  const headers = z.record(z.string(), z.string()).superRefine((given, context) => {
    for (const [name, value] of Object.entries(given)) {
      const problem = describeHeader(name.toLowerCase(), value, own)
      if (problem !== undefined) context.addIssue({ code: 'custom', path: [name], message: problem })
    }
  })
  return z.custom(isObject, fault).pipe(headers)
}

function describeHeader(name: string, value: string, own: ReadonlyMap<string, string>): string | undefined {
  if (!HEADER_NAME.test(name)) return 'is not the name of a header'
  if (RESERVED_HEADERS.has(name)) return 'is set by the router; leave it out'
  if (own.has(name)) return `is set by the adapter; use ${own.get(name)}`
  return HEADER_VALUE.test(value) ? undefined : 'must be a string of visible ASCII and spaces'
}

/** The settings that all adapters with an upstream have. */
export function upstreamSchemas(...endpoints: readonly string[]): OptionSchemas<UpstreamSettings> {
  return {
    baseUrl: baseUrlSchema(endpoints),
    headers: headersSchema().optional(),
    dispatcher: dispatcherSchema.optional(),
  }
}

function lowerNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
