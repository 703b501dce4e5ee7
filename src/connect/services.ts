import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Library } from './library.js'
import type { Addresses } from './model/addresses.js'
import type { ConnectUser, Settings } from './model/options.js'
import { type ErrorDetails, errorPage } from './pages/error-page.js'
import { type Frame, pageHeaders } from './pages/page.js'
import type { RateLimit } from './rate-limit.js'
import { redirect, send, sendJson } from './requests.js'

/** The parts that all endpoints share. */
export interface Services {
  readonly settings: Settings
  readonly addresses: Addresses
  readonly frame: Frame
  readonly library: Library
  readonly limits: RateLimits
}

/** All of them count only in this process. */
export interface RateLimits {
  /** By account. */
  readonly authorizations: RateLimit
  /** Authorizations without a signed-in user, by address. */
  readonly strangers: RateLimit
  /** By account. */
  readonly answers: RateLimit
  /** By app and user. */
  readonly tokens: RateLimit
  /** By address. */
  readonly unknownTokens: RateLimit
}

/** One request, with the part of its path below the mount. */
export interface Visit {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly path: string
  readonly query: string
}

export function showError(
  { frame }: Services,
  { req, res }: Visit,
  status: number,
  title: string,
  text: string,
  details?: ErrorDetails,
): void {
  send(req, res, status, pageHeaders(), errorPage(frame, title, text, details))
}

export function showExpired(services: Services, visit: Visit): void {
  showError(
    services,
    visit,
    400,
    'This request has expired',
    'It was answered already, or it was open for too long. Go back to the app and connect it again.',
  )
}

/**
 * Returns the user of a request. Without one, sends the browser to the host's login and from there back here. After a
 * form, shows a link instead: the login may be on another origin, and the page's policy does not let forms lead there.
 */
export async function userOrSignIn(services: Services, visit: Visit): Promise<ConnectUser | undefined> {
  const user = await findUser(services, visit)
  if (user !== undefined) return user
  if (visit.req.method === 'POST') {
    const text = `You are no longer signed in to ${services.settings.host.name}. Nothing was changed.`
    showError(services, visit, 401, 'You have signed out', text, {
      link: { to: addressOf(services, visit), text: 'Sign in again' },
    })
  } else signIn(services, visit)
  return undefined
}

/** Sends the browser to the host's login, and from there back here. */
export function signIn(services: Services, visit: Visit): void {
  redirect(visit.req, visit.res, services.settings.signIn(addressOf(services, visit)))
}

function addressOf({ addresses }: Services, { path, query }: Visit): string {
  return addresses.mount + path + query
}

/** Returns the user who is signed in to the host. Throws a `TypeError` if the host returns anything else. */
export async function findUser({ settings }: Services, { req }: Visit): Promise<ConnectUser | undefined> {
  const user = await settings.authenticate(req)
  if (user === undefined || user === null) return undefined
  if (typeof user.account !== 'string' || user.account === '' || typeof user.name !== 'string') {
    throw new TypeError('authenticate must return { account, name }, or undefined')
  }
  return user
}

/** Returns a client's address: that of the socket, unless the host states another. */
export function clientAddressOf({ clientAddress }: Settings, req: IncomingMessage): string {
  return clientAddress?.(req) ?? req.socket.remoteAddress ?? ''
}

/** Counts a person's request, and shows an error if there were too many. Returns whether it may continue. */
export function mayGoOn(
  services: Services,
  visit: Visit,
  where: 'authorize' | 'ask',
  limit: RateLimit,
  key: string,
): boolean {
  const wait = limit.take(key)
  if (wait === undefined) return true
  services.settings.emit({ type: 'connect-rate-limited', where })
  visit.res.setHeader('retry-after', String(wait))
  showError(
    services,
    visit,
    429,
    'Too many requests',
    `Wait ${wait} ${wait === 1 ? 'second' : 'seconds'}, then connect the app again.`,
  )
  return false
}

export function refuseJson({ req, res }: Visit, status: number, error: string, description: string): void {
  const body = { error, error_description: description }
  sendJson(req, res, status, body, { 'access-control-allow-origin': '*' })
}
