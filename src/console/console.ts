import type { ServerResponse } from 'node:http'
import type { Admin } from '../admin/index.js'
import { type Clock, systemClock } from '../base/clock.js'
import type { RouterEvent } from '../contracts/index.js'
import { requireClock } from '../contracts/option-checks.js'
import { normaliseBasePath, pathOf, pathUnder } from '../http/match.js'
import { assetsFolder } from './assets.js'
import { endpoints } from './endpoints/index.js'
import { createOwnTurns } from './own-turns.js'
import { createPages } from './pages.js'
import { type ConsoleRequest, checkOrigin, isOrigin, ORIGIN_FORM, readBody } from './request.js'
import type { Endpoint, EndpointRequest, Services } from './serving/endpoint.js'
import { createEventLog } from './serving/event-log.js'
import { HttpError, notFound, toHttpError } from './serving/http-error.js'
import { type ObservedRouter, ObservedRouters } from './serving/observed-routers.js'
import { send, sendCsv, sendError, sendJson } from './serving/reply.js'
import { type Authorise, type ConsoleViewer, readViewer } from './serving/viewer.js'

export interface ConsoleOptions {
  /** What the console shows and does: `createAdmin(stores)`. */
  readonly admin: Admin
  /** Who may look. There is no default: whoever is an operator may move credits and issue keys. */
  readonly authorise: Authorise
  /** Where the router is on the console's origin. `/compat/v1` by default. */
  readonly routerPath?: string
  /** Where nobody strips the mount from `req.url`, as with bare `http`. */
  readonly basePath?: string
  /** Where browsers see the console, such as `https://console.example.com`: for a proxy that rewrites `Host`. */
  readonly origin?: string
  /** Told to whoever is not signed in: how to. */
  readonly signInHint?: string
  /** For tests. */
  readonly clock?: Clock
}

/** Middleware for Express, Connect and bare `http`. */
export interface Console {
  /** Answers a request for its pages or its API. Returns nothing and never throws; calls `next` for other paths. */
  (req: ConsoleRequest, res: ServerResponse, next?: (error?: unknown) => void): void
  /** For the router's `onEvent`: explanations of calls, errors and incidents come from here. Cheap, and never throws. */
  readonly onEvent: (event: RouterEvent) => void
  /**
   * Shows what events do not tell of a router: its calls in flight and how its routes are doing. Of several routers, shows
   * all. Returns what ends it. What is no router is a `TypeError`.
   */
  observe(router: ObservedRouter): () => void
}

const SIGN_IN_HINT = 'Sign in where this service lets you, then open the console again.'

/**
 * Makes pages for operators and users: spend, calls, keys, apps, models, routes, and a playground.
 *
 * Mount it with `app.use('/console', createConsole({ admin, authorise }))`, hand its `onEvent` to the router, and the
 * router to its `observe`. Keeps no state but the newest events, in memory. Throws a `TypeError` that names the option
 * that is missing.
 */
export function createConsole(options: ConsoleOptions): Console {
  const { admin, authorise } = checkOptions(options)
  const basePath = normaliseBasePath(options.basePath ?? '')
  const log = createEventLog()
  const routers = new ObservedRouters()
  const services: Services = {
    admin,
    log,
    routers,
    routerPath: options.routerPath ?? '/compat/v1',
    clock: options.clock ?? systemClock,
  }
  const turns = createOwnTurns()
  const servicesOf = (viewer: ConsoleViewer): Services =>
    viewer.kind === 'operator' ? services : { ...services, admin: turns.adminOf(viewer.account, admin) }
  const byPath = new Map<string, Endpoint>(endpoints.map((endpoint) => [`/api/${endpoint.path}`, endpoint]))
  const answerPage = createPages(assetsFolder())

  async function answerApi(path: string, req: ConsoleRequest, res: ServerResponse): Promise<void> {
    const viewer = await readViewer(authorise, req)
    if (viewer === undefined) {
      throw new HttpError(401, `Nobody is signed in. ${options.signInHint ?? SIGN_IN_HINT}`)
    }
    const endpoint = byPath.get(path)
    if (endpoint === undefined) throw notFound('The console has nothing at this path')
    if (req.method !== endpoint.method) {
      throw new HttpError(405, `This path takes ${endpoint.method}`, undefined, { allow: endpoint.method })
    }
    if (endpoint.who === 'operator' && viewer.kind !== 'operator') {
      throw new HttpError(403, 'Only an operator may do this')
    }
    if (endpoint.method === 'POST') checkOrigin(req, options.origin)
    const request = await readRequest(endpoint, viewer, req)
    try {
      const reply = await endpoint.answer(request, servicesOf(viewer))
      if ('csv' in reply) await sendCsv(res, reply.csv)
      else sendJson(res, 200, reply)
    } catch (error) {
      // A download that its client broke off is nobody's fault.
      if (res.destroyed && isClientGone(error)) return
      // Only what comes from an endpoint is in words for who asked. What `authorise` throws is the host's alone.
      throw toHttpError(error) ?? error
    }
  }

  function failed(error: unknown, res: ServerResponse): void {
    const httpError = error instanceof HttpError ? error : undefined
    if (httpError === undefined) {
      const fault = plainError(error)
      log.take({ type: 'fault', where: 'console', error: { name: fault.name, message: fault.message } })
      process.emitWarning(fault)
    }
    // What breaks on its way must not look whole.
    if (res.headersSent) res.destroy()
    else
      sendError(
        res,
        httpError ?? new HttpError(500, 'Something went wrong in the console: see the process’s warnings'),
      )
  }

  function serve(req: ConsoleRequest, res: ServerResponse, next?: (error?: unknown) => void): void {
    const path = pathUnder(basePath, pathOf(req.url ?? ''))
    if (path !== undefined) {
      const home = path === '/' ? withSlash(req) : undefined
      if (home !== undefined) {
        send(res, 308, { location: home, 'cache-control': 'no-store' })
        return
      }
      if (path.startsWith('/api/')) {
        answerApi(path, req, res).catch((error: unknown) => failed(error, res))
        return
      }
      if (answerPage(path, req, res)) return
    }
    if (next === undefined) sendError(res, notFound('The console has nothing at this path'))
    else next()
  }

  return Object.assign(
    (req: ConsoleRequest, res: ServerResponse, next?: (error?: unknown) => void): void => {
      try {
        serve(req, res, next)
      } catch (error) {
        failed(error, res)
      }
    },
    { onEvent: log.take, observe: (router: ObservedRouter) => routers.observe(router) },
  )
}

function checkOptions(options: ConsoleOptions): ConsoleOptions {
  if (typeof options?.authorise !== 'function') {
    throw new TypeError(
      'createConsole needs authorise: (req) => an operator ({ kind: "operator" }), a user ({ kind: "user", account }) or, for nobody, undefined. There is no default, since an operator may move credits. oneTimeSignIn() makes one for a single operator.',
    )
  }
  if (typeof options.admin?.entries !== 'function') {
    throw new TypeError('createConsole needs admin: createAdmin(stores) of compat-router/admin')
  }
  requireClock('createConsole', options.clock, ['now'])
  if (options.signInHint !== undefined && typeof options.signInHint !== 'string') {
    throw new TypeError('createConsole: signInHint must be a string.')
  }
  if (options.origin !== undefined && !isOrigin(options.origin)) throw new TypeError(`origin ${ORIGIN_FORM}`)
  if (options.routerPath !== undefined && !/^\/[^/?#\s]/.test(options.routerPath)) {
    throw new TypeError('routerPath must be a path on the origin of the console, such as /compat/v1')
  }
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) {
    throw new TypeError(`createConsole has no option ${unknown}; it has ${OPTIONS.join(', ')}`)
  }
  return options
}

/** Every option by name; the compiler sees that none is missing. */
const OPTIONS: readonly string[] = Object.keys({
  admin: true,
  authorise: true,
  routerPath: true,
  basePath: true,
  origin: true,
  signInHint: true,
  clock: true,
} satisfies Record<keyof ConsoleOptions, true>)

async function readRequest(
  endpoint: Endpoint,
  viewer: ConsoleViewer,
  req: ConsoleRequest,
): Promise<EndpointRequest> {
  if (endpoint.method === 'POST') return { viewer, query: {}, body: await readBody(req) }
  const target = req.url ?? ''
  const start = target.indexOf('?')
  const query = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(start === -1 ? '' : target.slice(start))) {
    if (query.has(name)) throw new HttpError(400, `${name} stands there twice: give it once`, name)
    query.set(name, value)
  }
  return { viewer, query: Object.fromEntries(query), body: {} }
}

/** The page's files are named relative to it, so that its address has to end in a slash. */
function withSlash(req: ConsoleRequest): string | undefined {
  const target = req.originalUrl ?? req.url ?? ''
  const path = pathOf(target)
  if (path.endsWith('/')) return undefined
  const query = target.indexOf('?')
  return `./${path.slice(path.lastIndexOf('/') + 1)}/${query === -1 ? '' : target.slice(query)}`
}

function isClientGone(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** What was thrown, in texts that are read here once: it may be anything, and throw when it is looked at. */
function plainError(thrown: unknown): NodeJS.ErrnoException {
  try {
    if (!(thrown instanceof Error)) return new Error(String(thrown))
    const { name, message, stack, code } = thrown as NodeJS.ErrnoException
    const plain: NodeJS.ErrnoException = new Error(String(message))
    plain.name = String(name)
    if (stack !== undefined) plain.stack = String(stack)
    if (code !== undefined) plain.code = String(code)
    return plain
  } catch {
    return new Error('What was thrown cannot be shown')
  }
}
