import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.js'
import { OptionsError } from '../base/options-error.js'
import { pathOf, pathUnder, withoutTrailingSlashes } from '../hosts/match.js'
import { optionsSchema, readOptions, withMethods } from '../rules/read-options.js'
import { basePathSchema } from '../rules/schemas.js'
import { type ConsoleRequest, checkOrigin, originSchema, readBody } from './request.js'
import { HttpError, toHttpError } from './serving/http-error.js'
import { send, sendError, sendJson } from './serving/reply.js'
import { type Authorise, type ConsoleViewer, viewerSchema } from './serving/viewer.js'
import { SIGN_IN_PAGE, SIGN_IN_SCRIPT, SIGN_IN_STYLE } from './sign-in-page.js'

export interface OneTimeSignInOptions {
  /** The viewer that a link signs in. An operator by default. */
  readonly viewer?: ConsoleViewer
  /** How long an unused link is valid. An hour by default. */
  readonly linkMs?: number
  /** How long a session lasts. Twelve hours by default. */
  readonly sessionMs?: number
  /** Where to get another link. Shown if a link was used or has expired, or if a session has ended. */
  readonly hint?: string
  /** The console's own `basePath`, if it has one. */
  readonly basePath?: string
  /** The console's own `origin`, if it has one. */
  readonly origin?: string
  /** For tests. */
  readonly clock?: Clock
}

/** Signs in anyone who has a link that this process issued. Each link works once. */
export interface OneTimeSignIn {
  /** Middleware to mount at the console's path, before the console. */
  (req: ConsoleRequest, res: ServerResponse, next?: (error?: unknown) => void): void
  /** Returns a new link to the console at an address, which may be only a path. Its secret is after the `#`, so it is sent to no server, log or referrer. */
  link(consoleUrl: string): string
  readonly authorise: Authorise
  /** How to sign in again, for the console's `signInHint`. */
  readonly hint: string
}

const HOUR_MS = 3_600_000
const SECRET_BYTES = 32
/** More than the browsers and links of one person. The oldest is dropped first. */
const MAX_KEPT = 100
const HINT = 'Get a new link from the same source as the last one.'

const lifeSchema = z.int().positive().optional()
const signInSchema = optionsSchema<OneTimeSignInOptions>({
  viewer: viewerSchema.optional(),
  linkMs: lifeSchema,
  sessionMs: lifeSchema,
  hint: z.string().optional(),
  basePath: basePathSchema.optional(),
  origin: originSchema.optional(),
  clock: withMethods<Clock>('now').optional(),
})

/**
 * Makes links that open the console once each: the secret of a link is exchanged for a session cookie (`HttpOnly`,
 * `SameSite=Strict`, `Secure` over https). Links and sessions are in memory, so a restart ends them. Throws a `TypeError`
 * that names the invalid option.
 */
export function oneTimeSignIn(given: OneTimeSignInOptions = {}): OneTimeSignIn {
  const options = readOptions(signInSchema, given, 'oneTimeSignIn')
  const viewer = options.viewer ?? { kind: 'operator' }
  const clock = options.clock ?? systemClock
  const sessionMs = options.sessionMs ?? 12 * HOUR_MS
  const basePath = withoutTrailingSlashes(options.basePath ?? '')
  const hint = options.hint ?? HINT
  const links = new Expiring(clock, options.linkMs ?? HOUR_MS)
  const sessions = new Expiring(clock, sessionMs)

  const isSignedIn = (req: IncomingMessage): boolean =>
    cookiesOf(req).some((session) => sessions.has(session))

  async function signIn(req: ConsoleRequest, res: ServerResponse): Promise<void> {
    checkOrigin(req, options.origin)
    const { secret } = await readBody(req)
    if (typeof secret === 'string' && links.redeem(secret)) {
      sendJson(
        res,
        200,
        { done: true },
        { 'set-cookie': cookie(req, sessions.add(), Math.ceil(sessionMs / 1_000)) },
      )
    } else if (isSignedIn(req)) {
      sendJson(res, 200, { done: true })
    } else {
      throw new HttpError(403, `This link has been used, has expired, or is incomplete. ${hint}`)
    }
  }

  async function signOut(req: ConsoleRequest, res: ServerResponse): Promise<void> {
    checkOrigin(req, options.origin)
    await readBody(req)
    for (const session of cookiesOf(req)) sessions.redeem(session)
    sendJson(res, 200, { done: true }, { 'set-cookie': cookie(req, '', 0) })
  }

  // Without a path, the browser uses the path of its own sign-in address (RFC 6265 section 5.1.4). A proxy may have mounted
  // the console at a path that is unknown here.
  function cookie(req: ConsoleRequest, value: string, seconds: number): string {
    const secure = isOverHttps(req, options.origin) ? '; Secure' : ''
    return `${cookieName(req)}=${value}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`
  }

  function serve(path: string | undefined, req: ConsoleRequest, res: ServerResponse): boolean {
    const file = path === undefined ? undefined : FILES.get(path)
    if (req.method === 'POST' && (path === '/sign-in' || path === '/sign-out')) {
      const run = path === '/sign-in' ? signIn : signOut
      run(req, res).catch((error: unknown) => {
        sendError(res, toHttpError(error) ?? new HttpError(500, 'Something went wrong while signing in'))
      })
    } else if (file !== undefined && (req.method === 'GET' || req.method === 'HEAD')) {
      const headers = { 'content-type': file.type, 'cache-control': 'no-store' }
      send(res, 200, headers, file.text, req.method === 'HEAD')
    } else {
      return false
    }
    return true
  }

  return Object.assign(
    (req: ConsoleRequest, res: ServerResponse, next?: (error?: unknown) => void): void => {
      if (serve(pathUnder(basePath, pathOf(req.url ?? '')), req, res)) return
      if (next === undefined) sendError(res, new HttpError(404, 'There is nothing at this path'))
      else next()
    },
    {
      hint: `A link opens the console once. ${hint}`,
      link(consoleUrl: string) {
        if (typeof consoleUrl !== 'string') {
          throw new OptionsError({
            code: 'invalid_option',
            where: 'link',
            field: 'consoleUrl',
            problem: "must be the console's address, such as 'http://localhost:3000/console'",
          })
        }
        return `${consoleUrl.replace(/\/+$/, '')}/sign-in#${links.add()}`
      },
      authorise: (req: IncomingMessage) =>
        isSignedIn(req) ? { ...viewer, signOutPath: 'sign-out' } : undefined,
    },
  )
}

const FILES: ReadonlyMap<string, { readonly type: string; readonly text: string }> = new Map([
  ['/sign-in', { type: 'text/html; charset=utf-8', text: SIGN_IN_PAGE }],
  ['/sign-in.js', { type: 'text/javascript; charset=utf-8', text: SIGN_IN_SCRIPT }],
  ['/sign-in.css', { type: 'text/css; charset=utf-8', text: SIGN_IN_STYLE }],
])

/** Keeps secrets by digest, so that a lookup takes no longer for a better guess. */
class Expiring {
  private readonly ends = new Map<string, number>()

  constructor(
    private readonly clock: Clock,
    private readonly lifeMs: number,
  ) {}

  add(): string {
    const secret = randomBytes(SECRET_BYTES).toString('base64url')
    if (this.ends.size >= MAX_KEPT) this.ends.delete(this.ends.keys().next().value!)
    this.ends.set(digest(secret), this.clock.now() + this.lifeMs)
    return secret
  }

  has(secret: string): boolean {
    return this.clock.now() < (this.ends.get(digest(secret)) ?? 0)
  }

  /** Returns whether the secret was valid, and invalidates it. */
  redeem(secret: string): boolean {
    const isGood = this.has(secret)
    this.ends.delete(digest(secret))
    return isGood
  }
}

function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

/** Browsers share cookies between the ports of a host, so the name contains the port. */
function cookieName(req: IncomingMessage): string {
  return `compat-console-${req.socket.localPort ?? 0}`
}

/** Returns all cookies of this name: one that somebody else has set for the host must not hide ours. */
function cookiesOf(req: IncomingMessage): readonly string[] {
  const name = `${cookieName(req)}=`
  const pairs = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  return pairs.filter((pair) => pair.startsWith(name)).map((pair) => pair.slice(name.length))
}

/** Whether browsers use https, even if a proxy terminates it. */
function isOverHttps(req: IncomingMessage, origin: string | undefined): boolean {
  if (origin !== undefined) return origin.startsWith('https:')
  const isEncrypted = (req.socket as Partial<TLSSocket>).encrypted === true
  return isEncrypted || req.headers.origin?.startsWith('https:') === true
}
