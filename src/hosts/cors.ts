import type { RequestHeaders } from '../protocol/request-headers.js'
import type { HostedReply, ReplyHeaders } from './hosted.js'

/** Lets the pages of any origin read a reply. It cannot be combined with cookies. */
export const ANY_ORIGIN = '*'
export const ALLOW_ORIGIN = 'access-control-allow-origin'

/** The headers of replies that scripts may read. */
const EXPOSED = [
  'x-request-id',
  'retry-after',
  'x-should-retry',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
  'www-authenticate',
].join(', ')
const MAX_AGE_SECONDS = '600'
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]+$/

/**
 * Returns the headers that answer a preflight, or none if the request is not a preflight. A preflight carries no
 * credential, so every one is answered. The credential of the call that follows decides.
 */
export function preflightHeaders(
  request: RequestHeaders,
  { isOriginDecided }: HostedReply,
  methods: string,
): Readonly<ReplyHeaders> {
  if (request.header('origin') === undefined) return {}
  if (request.header('access-control-request-method') === undefined) return {}
  if (isOriginDecided) return {}
  const asked = request.header('access-control-request-headers')
  return {
    [ALLOW_ORIGIN]: ANY_ORIGIN,
    'access-control-allow-methods': methods,
    ...(asked !== undefined && HEADER_NAMES.test(asked) && { 'access-control-allow-headers': asked }),
    'access-control-max-age': MAX_AGE_SECONDS,
  }
}

/** Adds headers that let the pages of an origin read the reply. `vary` is what the host has set. */
export function letRead(
  headers: ReplyHeaders,
  origin: string,
  vary?: number | string | readonly string[] | undefined,
): void {
  headers[ALLOW_ORIGIN] = origin
  headers['access-control-expose-headers'] = EXPOSED
  if (origin !== ANY_ORIGIN) headers.vary = varyByOrigin(vary)
}

/** A middleware of the host may have set other names. */
function varyByOrigin(set: number | string | readonly string[] | undefined): string {
  const names = String(set ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  const isListed = names.some((name) => name === ANY_ORIGIN || name.toLowerCase() === 'origin')
  return (isListed ? names : [...names, 'Origin']).join(', ')
}
