import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { pathOf, queryOf } from '../hosts/match.js'
import { mayBeAppId } from './adapter.js'
import { answer, ask } from './ask.js'
import { authorize, resume } from './authorize.js'
import { createLibrary, type ErrorPage } from './library.js'
import { type Addresses, addressesOf } from './model/addresses.js'
import { imageType } from './model/images.js'
import { type ConnectOptions, checkOptions, type Settings } from './model/options.js'
import { SCOPES } from './model/scopes.js'
import { errorPage } from './pages/error-page.js'
import { type Frame, pageHeaders } from './pages/page.js'
import { STYLE } from './pages/style.js'
import { RateLimit } from './rate-limit.js'
import { type ConnectRequest, send, sendJson } from './requests.js'
import { refuseJson, type Services, showError, type Visit } from './services.js'
import { callTokenEndpoint } from './tokens.js'

/** Middleware for Express, Connect and bare `http`. */
export interface Connect {
  /**
   * Answers every request under `url` and those for metadata, and calls `next` for all others. Returns nothing and
   * never throws.
   */
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void
  /** Loads the library, and waits until the stores are up to date, as the first request does. */
  readonly ready: Promise<void>
  /** The address of the router's metadata, for `createCompatRouter({ resourceMetadata })`. */
  readonly resourceMetadata: string
  /** Stops the sweep of expired rows. Does not close the stores. */
  close(): Promise<void>
}

const SWEEP_MS = 60_000
const SWEPT_ROWS = 500
const OPEN_REQUESTS = 10
const REQUEST_ID = /^[\w-]+$/
const IMMUTABLE = 'public, max-age=31536000, immutable'
const ANYONE = { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' }

/**
 * Creates an OAuth 2.1 authorization server with which a host's users connect apps that spend their credits.
 *
 * Mount it at the root of the host: `app.use(createConnect({ url: 'https://host.example/connect', … }))`. It needs the
 * package `oidc-provider`. Throws an `OptionsError` that names the wrong option.
 */
export function createConnect(options: ConnectOptions): Connect {
  const settings = checkOptions(options)
  const addresses = addressesOf(settings.url, settings.router)
  const { logo } = settings.host
  const hostLogo = logo === undefined ? undefined : hash('sha256', logo)
  const frame: Frame = { mount: addresses.mount, host: settings.host, hostLogo }
  const now = (): number => performance.now()
  const { rates } = settings
  const limits = {
    authorizations: new RateLimit(rates.authorizations, now),
    strangers: new RateLimit(rates.strangers, now),
    answers: new RateLimit(rates.answers, now),
    tokens: new RateLimit(rates.tokens, now),
    unknownTokens: new RateLimit(rates.unknownTokens, now),
  }
  /** The latest open requests of each account. */
  const open = new LRUCache<string, readonly string[]>({ max: 10_000 })
  let started: Promise<Services> | undefined
  let isClosed = false
  const sweeper = setInterval(sweep, SWEEP_MS)
  sweeper.unref()

  /** Starts with the first request. After a failure, the next request tries again. */
  function services(): Promise<Services> {
    if (started === undefined) {
      started = start()
      started.catch(() => {
        started = undefined
      })
    }
    return started
  }

  async function start(): Promise<Services> {
    const library = await createLibrary(settings, addresses, {
      onRequestOpened(account, id) {
        const ids = [...(open.get(account) ?? []), id]
        open.set(account, ids.slice(-OPEN_REQUESTS))
        for (const old of ids.slice(0, -OPEN_REQUESTS)) {
          library.destroyRequest(old).catch((error: unknown) => report(settings, 'open requests', error))
        }
      },
      renderError: (error, description): ErrorPage => {
        const text = description ?? 'The app has sent a request that cannot be answered.'
        return {
          headers: pageHeaders(),
          body: errorPage(frame, 'This app cannot be connected', text, { code: error }),
        }
      },
    })
    await options.stores.ready()
    return { settings, addresses, frame, library, limits }
  }

  let isSweeping = false
  function sweep(): void {
    if (isSweeping) return
    isSweeping = true
    sweepAll()
      .catch((error: unknown) => report(settings, 'sweep', error))
      .finally(() => {
        isSweeping = false
      })
  }

  async function sweepAll(): Promise<void> {
    while ((await settings.store.sweep(SWEPT_ROWS)) > 0) if (isClosed) return
  }

  async function serve(visit: Visit): Promise<void> {
    const { path, req, res } = visit
    const method = req.method === 'HEAD' ? 'GET' : req.method
    if (method === 'GET' && path === '/style.css') {
      const headers = { 'content-type': 'text/css; charset=utf-8', 'cache-control': IMMUTABLE }
      send(req, res, 200, headers, STYLE)
      return
    }
    const parts = await services()
    const [, name = '', id, ...rest] = path.split('/')
    // Other ids do not exist, and a login must not be given a return path with `..` or `\\`.
    const isNested = id !== undefined && REQUEST_ID.test(id) && rest.length === 0
    if (method === 'GET' && path === '/authorize') await authorize(parts, visit)
    else if (method === 'GET' && name === 'authorize' && isNested) await resume(parts, visit, id)
    else if (method === 'GET' && name === 'ask' && isNested) await ask(parts, visit, id)
    else if (method === 'POST' && name === 'ask' && isNested) await answer(parts, visit, id)
    else if ((method === 'POST' || method === 'OPTIONS') && id === undefined && isTokenEndpoint(name)) {
      await callTokenEndpoint(parts, visit, name)
    } else if (method === 'GET' && path === `/host-logo/${hostLogo}`) sendImage(visit, logo!)
    else if (method === 'GET' && name === 'logo' && rest.length === 1) {
      const app = decoded(id!)
      const found = mayBeAppId(app) ? await settings.store.findLogo(app, rest[0]!) : undefined
      if (found === undefined) showError(parts, visit, 404, 'Not found', 'There is no such image.')
      else sendImage(visit, found.bytes)
    } else showError(parts, visit, 404, 'Not found', 'There is nothing at this address.')
  }

  function fail(visit: Visit, error: unknown): void {
    report(settings, 'http', error)
    const { path, req, res } = visit
    const code = 'temporarily_unavailable'
    const text = 'Something went wrong. Try again later.'
    if (res.headersSent) res.destroy()
    else if (isTokenEndpoint(path.slice(1))) refuseJson(visit, 503, code, text)
    else send(req, res, 503, pageHeaders(), errorPage(frame, 'Out of order', text, { code }))
  }

  function handle(req: ConnectRequest, res: ServerResponse, next?: (error?: unknown) => void): void {
    const target = req.originalUrl ?? req.url ?? ''
    const whole = pathOf(target)
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    const { mount } = addresses
    if (isRead && addresses.serverMetadataPaths.includes(whole)) {
      sendJson(req, res, 200, serverMetadata(addresses, settings.introspect.length > 0), ANYONE)
    } else if (isRead && addresses.resourceMetadataPaths.includes(whole)) {
      sendJson(req, res, 200, resourceMetadata(addresses, settings.host.name), ANYONE)
    } else if (isPreflight(req) && isMetadata(whole)) {
      send(req, res, 204, {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET',
        'access-control-allow-headers': String(req.headers['access-control-request-headers'] ?? ''),
        'access-control-max-age': '600',
      })
    } else if (whole.startsWith(`${mount}/`)) {
      const query = queryOf(target)
      const path = whole.slice(mount.length)
      const visit = { req, res, path, query: query === '' ? '' : `?${query}` }
      serve(visit).catch((error: unknown) => fail(visit, error))
    } else if (next !== undefined) next()
    else sendJson(req, res, 404, { error: 'not_found' })
  }

  const isMetadata = (path: string): boolean =>
    addresses.serverMetadataPaths.includes(path) || addresses.resourceMetadataPaths.includes(path)

  const connect = Object.assign(
    (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void => {
      try {
        handle(req, res, next)
      } catch (error) {
        report(settings, 'http', error)
        res.destroy()
      }
    },
    {
      resourceMetadata: addresses.resourceMetadata,
      async close() {
        isClosed = true
        clearInterval(sweeper)
      },
    },
  )
  return Object.defineProperty(connect, 'ready', { get: () => services().then(() => undefined) }) as Connect
}

function isTokenEndpoint(name: string): name is 'token' | 'revoke' | 'introspect' {
  return name === 'token' || name === 'revoke' || name === 'introspect'
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}

function isPreflight({ headers, method }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

function sendImage({ req, res }: Visit, bytes: Uint8Array): void {
  send(
    req,
    res,
    200,
    {
      'content-type': imageType(bytes) ?? 'application/octet-stream',
      'cache-control': IMMUTABLE,
      'content-security-policy': "default-src 'none'; sandbox",
    },
    bytes,
  )
}

function report({ emit }: Settings, where: string, error: unknown): void {
  const { message, name } = error instanceof Error ? error : new Error(String(error))
  emit({ type: 'connect-fault', where, error: { name, message } })
}

/** The metadata of the authorization server (RFC 8414). The library's own would list algorithms of id tokens. */
function serverMetadata(addresses: Addresses, hasResourceServers: boolean): object {
  const { authorize, introspect, issuer, revoke, token } = addresses
  return {
    issuer,
    authorization_endpoint: authorize,
    token_endpoint: token,
    revocation_endpoint: revoke,
    introspection_endpoint: introspect,
    scopes_supported: [...SCOPES.keys()],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    prompt_values_supported: ['none', 'consent'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    introspection_endpoint_auth_methods_supported: hasResourceServers
      ? ['none', 'client_secret_basic']
      : ['none'],
    authorization_response_iss_parameter_supported: true,
  }
}

/** The metadata of the router as a protected resource (RFC 9728). */
function resourceMetadata({ issuer, router }: Addresses, hostName: string): object {
  return {
    resource: router,
    resource_name: hostName,
    authorization_servers: [issuer],
    scopes_supported: [...SCOPES.keys()],
    bearer_methods_supported: ['header'],
  }
}
