import { CompatError } from '../../base/errors.js'
import type { Asked } from '../../contracts/operation.js'
import type { RequestHeaders } from '../../protocol/request-headers.js'

const VISIBLE_ASCII = /^[\x21-\x7e]{1,1024}$/

/** The header names that agents use. */
const NAMES = [
  'x-session-id',
  'x-session-affinity',
  'session_id',
  'session-id',
  'x-claude-code-session-id',
] as const

/**
 * Returns the request with the session of the first matching header, for clients that cannot set the field in the body.
 * The body takes precedence.
 */
export function sessionFromHeader<A extends Asked>(asked: A, headers: RequestHeaders): A {
  if (asked.own.sessionId !== undefined) return asked
  const name = NAMES.find((header) => headers.header(header) !== undefined)
  if (name === undefined) return asked
  const sessionId = headers.header(name)!
  if (!VISIBLE_ASCII.test(sessionId)) {
    throw new CompatError(
      'invalid_session_id',
      `The header ${name} must be 1 to 1,024 visible ASCII characters.`,
      { param: name },
    )
  }
  return { ...asked, own: { ...asked.own, sessionId } }
}
