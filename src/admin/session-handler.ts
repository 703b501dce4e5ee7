import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { CompatError } from '../base/errors.js'
import { isRefusal } from '../base/refusal.js'
import type { Awaitable } from '../contracts/index.js'
import { asCompatError, errorReply } from '../protocol/error-body.js'
import { JSON_TYPE } from '../protocol/media-types.js'
import { functionSchema, optionsSchema, readOptions } from '../rules/read-options.js'
import { type SessionRequest, type SessionsAdmin, sessionTerms } from './sessions.js'

/** The signed-in user behind a request. */
export interface SessionUser {
  /** The account that pays. */
  readonly account: string
  /**
   * An id of the host's login, for ending its sessions with `admin.sessions.revoke`. Must not be secret, since its holder
   * can read it.
   */
  readonly label?: string
}

export interface SessionHandlerOptions extends Omit<SessionRequest, 'account' | 'label' | 'endsAt'> {
  readonly admin: { readonly sessions: Pick<SessionsAdmin, 'resume'> }
  /** Returns the signed-in user by the host's own cookie, or undefined or null if there is none. */
  readonly authenticate: (req: IncomingMessage) => Awaitable<SessionUser | undefined | null>
}

/** Middleware for Express, Connect and `node:http`, for one path. */
export type SessionHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void

const handlerSchema = optionsSchema<SessionHandlerOptions>({
  admin: z.custom<SessionHandlerOptions['admin']>(
    (given) => typeof Object(Object(given).sessions).resume === 'function',
    'must be createAdmin(stores)',
  ),
  authenticate: functionSchema<SessionHandlerOptions['authenticate']>(),
  ...sessionTerms,
})
const JSON_BODY = /^application\/json(?:\s*;|$)/i
const SECOND_MS = 1_000

/**
 * Creates the handler that issues tokens to a host's pages, for the account of their signed-in user: `{ "token": "…",
 * "expires_in": 900 }`. Mount it behind the host's own login, on the origin of the pages.
 *
 * It answers only a POST of JSON that, according to the browser, comes from a page of the same origin, so that no other
 * page can use the user's cookie. A reloaded page shares the session and its budget. A fault is passed to `next`, or
 * answered with a 500. Throws an `OptionsError` if an option is wrong.
 */
export function sessionHandler(options: SessionHandlerOptions): SessionHandler {
  const { admin, authenticate, ...terms } = readOptions(handlerSchema, options, 'sessionHandler')

  async function answer(req: IncomingMessage): Promise<object> {
    checkRequest(req)
    const user = await authenticate(req)
    if (user === undefined || user === null)
      throw new CompatError('missing_credential', 'Nobody is signed in here.')
    const { account, label } = user
    const { token, ttlMs } = await admin.sessions.resume({
      ...terms,
      account,
      ...(label !== undefined && { label }),
    })
    return { token, expires_in: Math.floor(ttlMs / SECOND_MS) }
  }

  return (req, res, next) => {
    // The body has no meaning.
    req.resume()
    answer(req).then(
      (body) => send(res, 200, {}, JSON.stringify(body)),
      (error) => {
        const refusal = asRefusal(error)
        if (refusal === undefined && next !== undefined) return next(error)
        const { body, headers, status } = errorReply(asCompatError(refusal ?? error))
        send(res, status, headers, body)
      },
    )
  }
}

function checkRequest({ headers, method }: IncomingMessage): void {
  if (method !== 'POST') {
    throw new CompatError('method_not_allowed', 'This path accepts only POST.', {
      headers: { allow: 'POST' },
    })
  }
  if (headers['sec-fetch-site'] !== 'same-origin') {
    throw new CompatError('origin_not_allowed', 'Only pages of this origin, in a browser, get tokens here.')
  }
  if (!JSON_BODY.test(headers['content-type'] ?? '')) {
    throw new CompatError(
      'unsupported_media_type',
      'The content-type of the request must be application/json.',
    )
  }
}

/** Returns the answer to an error that is not a fault. */
function asRefusal(error: unknown): CompatError | undefined {
  if (error instanceof CompatError) return error
  if (!isRefusal(error)) return undefined
  return error.reason === 'not-found'
    ? new CompatError('insufficient_scope', 'The user has not connected this app.')
    : new CompatError('rate_limited', error.message)
}

function send(
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  if (res.headersSent || res.destroyed) return
  res.writeHead(status, {
    'content-type': JSON_TYPE,
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  res.end(body, 'latin1')
}
