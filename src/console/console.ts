import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { type Admin, type AdminActor, toJson } from '../admin/index.js'
import { type Clock, systemClock } from '../base/clock.js'
import type { RouterEvent } from '../contracts/index.js'
import { pathOf, pathUnder, withoutTrailingSlashes } from '../hosts/match.js'
import { functionSchema, optionsSchema, readOptions, withMethods } from '../rules/read-options.js'
import { basePathSchema } from '../rules/schemas.js'
import { assetsFolder, createPages } from './assets.js'
import { endpoints } from './endpoints/index.js'
import { createOwnTurns } from './own-turns.js'
import { type ConsoleRequest, checkOrigin, originSchema, readBody } from './request.js'
import type { Endpoint, Services } from './serving/endpoint.js'
import { createEventLog } from './serving/event-log.js'
import { HttpError, notFound, toHttpError } from './serving/http-error.js'
import { type ObservedRouter, ObservedRouters } from './serving/observed-routers.js'
import {
  type CsvReply,
  type PictureReply,
  send,
  sendCsv,
  sendError,
  sendJson,
  sendPicture,
} from './serving/reply.js'
import { type Authorise, type ConsoleViewer, isPublisher, readViewer } from './serving/viewer.js'

export interface ConsoleOptions {
  /** The data that the console shows and changes: `createAdmin(stores)`. */
  readonly admin: Admin
  /** Decides who may use the console. There is no default, since an operator may move credits and issue keys. */
  readonly authorise: Authorise
  /** The router's path on the console's origin. `/compat/v1` by default. */
  readonly routerPath?: string
  /** The path of the console, if nothing strips it from `req.url`, as with bare `http`. */
  readonly basePath?: string
  /** The console's origin as browsers see it, such as `https://console.example.com`, if a proxy rewrites `Host`. */
  readonly origin?: string
  /** Which users may publish apps that others can connect. Nobody by default. */
  readonly publish?: (account: string) => boolean | Promise<boolean>
  /** Where users add credits: an `https` URL, or a path on the console's origin. Their home page links to it. */
  readonly topUpUrl?: string
  /** How to sign in, shown to anyone who has not. */
  readonly signInHint?: string
  /** For tests. */
  readonly clock?: Clock
}

/** Middleware for Express, Connect and bare `http`. */
export interface Console {
  /** Answers requests for its pages and its API, and calls `next` for other paths. Returns nothing and never throws. */
  (req: ConsoleRequest, res: ServerResponse, next?: (error?: unknown) => void): void
  /** The router's `onEvent`: explanations of calls, errors and incidents come from its events. Cheap, and never throws. */
  readonly onEvent: (event: RouterEvent) => void
  /**
   * Shows a router's calls in flight and the health of its routes, which its events do not contain. Call it once for each
   * router. Returns a function that stops it. Throws a `TypeError` if the value is not a router.
   */
  observe(router: ObservedRouter): () => void
}

const SIGN_IN_HINT = 'Sign in to this service, then open the console again.'

/**
 * Creates pages for operators and users: spend, calls, keys, apps, models, routes, and a playground.
 *
 * Mount it with `app.use('/console', createConsole({ admin, authorise }))`, pass its `onEvent` to the router, and the
 * router to its `observe`. Its only state is the newest events, in memory. Throws a `TypeError` that names the missing or
 * invalid option.
 */
export function createConsole(given: ConsoleOptions): Console {
  const options = readOptions(consoleSchema, given, 'createConsole')
  const { admin, authorise } = options
  const basePath = withoutTrailingSlashes(options.basePath ?? '')
  const log = createEventLog()
  const routers = new ObservedRouters()
  const services: Services = {
    admin,
    log,
    routers,
    routerPath: options.routerPath ?? '/compat/v1',
    publish: options.publish ?? (() => false),
    topUpUrl: options.topUpUrl,
    clock: options.clock ?? systemClock,
  }
  const turns = createOwnTurns(services.clock)
  // A host's copy with functions of its own has no `as`, and one that inherits from `admin` must not be passed by.
  const named = (actor: AdminActor): Admin => (Object.hasOwn(admin, 'as') ? admin.as(actor) : admin)
  const servicesOf = (viewer: ConsoleViewer): Services => ({
    ...services,
    admin:
      viewer.kind === 'operator'
        ? named({ kind: 'operator', name: viewer.name || 'operator' })
        : turns.adminOf(viewer.account, named({ kind: 'account', name: viewer.account })),
  })
  const byPath = new Map<string, Endpoint>(endpoints.map((endpoint) => [`/api/${endpoint.path}`, endpoint]))
  const answerPage = createPages(assetsFolder())

  async function answerApi(path: string, req: ConsoleRequest, res: ServerResponse): Promise<void> {
    const viewer = await readViewer(authorise, req)
    if (viewer === undefined) {
      throw new HttpError(401, `You are not signed in. ${options.signInHint ?? SIGN_IN_HINT}`)
    }
    const endpoint = byPath.get(path)
    if (endpoint === undefined) throw notFound('The console has nothing at this path')
    if (req.method !== endpoint.method) {
      throw new HttpError(405, `This path accepts only ${endpoint.method}`, undefined, {
        allow: endpoint.method,
      })
    }
    if (endpoint.who === 'operator' && viewer.kind !== 'operator') {
      throw new HttpError(403, 'Only an operator may do this')
    }
    if (endpoint.who === 'publisher' && !(await isPublisher(viewer, services))) {
      throw new HttpError(403, 'Only an account that may publish apps may do this')
    }
    if (endpoint.method === 'POST') checkOrigin(req, options.origin)
    const input = endpoint.method === 'POST' ? await readBody(req) : readQuery(req.url ?? '')
    try {
      const reply: Partial<CsvReply & PictureReply> = await endpoint.answer(input, {
        ...servicesOf(viewer),
        viewer,
      })
      if (reply.csv !== undefined) await sendCsv(res, reply.csv)
      else if (reply.picture !== undefined) sendPicture(res, reply.picture)
      else sendJson(res, 200, toJson(reply))
    } catch (error) {
      // A download that the client aborted is not a fault.
      if (res.destroyed && isClientGone(error)) return
      // Only an endpoint's errors are worded for the client. Errors of `authorise` are for the host only.
      throw toHttpError(error) ?? error
    }
  }

  function failed(error: unknown, res: ServerResponse): void {
    const httpError = error instanceof HttpError ? error : undefined
    if (httpError === undefined) {
      const fault = plainError(error)
      log.record({ type: 'fault', where: 'console', error: { name: fault.name, message: fault.message } })
      process.emitWarning(fault)
    }
    // A reply that fails midway must not look complete.
    if (res.headersSent) res.destroy()
    else
      sendError(
        res,
        httpError ??
          new HttpError(500, 'Something went wrong in the console. See the warnings of its process.'),
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
    { onEvent: log.record, observe: (router: ObservedRouter) => routers.observe(router) },
  )
}

const AUTHORISE =
  'must be a function of the request that returns an operator ({ kind: "operator" }), a user ({ kind: "user", account }) or, if nobody is signed in, undefined. There is no default, since an operator may move credits. oneTimeSignIn() makes one for a single operator'

const consoleSchema = optionsSchema<ConsoleOptions>({
  authorise: z.custom<Authorise>((given) => typeof given === 'function', AUTHORISE),
  admin: z.custom<Admin>(
    (given) => typeof Object(Object(given).entries).list === 'function',
    'must be createAdmin(stores) from compat-router/admin',
  ),
  routerPath: z
    .string()
    .regex(/^\/[^/?#\s]/, "must be a path on the console's origin, such as /compat/v1")
    .optional(),
  basePath: basePathSchema.optional(),
  origin: originSchema.optional(),
  publish: functionSchema<NonNullable<ConsoleOptions['publish']>>().optional(),
  topUpUrl: z
    .string()
    .refine(
      isLink,
      "must be an https URL or a path on the console's origin, such as https://example.com/billing or /billing",
    )
    .optional(),
  signInHint: z.string().optional(),
  clock: withMethods<Clock>('now').optional(),
})

/** Whether a page may link to it: an address with another scheme could run a script. */
function isLink(text: string): boolean {
  const origin = 'https://console.invalid'
  if (!text.startsWith('/')) return /^https:\/\//i.test(text) && URL.canParse(text)
  // Browsers take `//host` and `/\host` as other origins.
  return URL.canParse(text, origin) && new URL(text, origin).origin === origin
}

function readQuery(target: string): Readonly<Record<string, string>> {
  const start = target.indexOf('?')
  const query = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(start === -1 ? '' : target.slice(start))) {
    if (query.has(name)) throw new HttpError(400, `${name} is given twice; give it once`, name)
    query.set(name, value)
  }
  return Object.fromEntries(query)
}

/** The page links to its files by relative paths, so its own address must end in a slash. */
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

/** Copies a thrown value, reading each member once: it may be of any type, and reading it may throw. */
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
    return new Error('The thrown value cannot be shown')
  }
}
