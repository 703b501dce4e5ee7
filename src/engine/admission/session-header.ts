import { CompatError } from '../../base/errors.js'
import type { Asked } from '../../contracts/operation.js'
import type { IncomingCall } from '../../contracts/reply.js'

const VISIBLE_ASCII = /^[\x21-\x7e]{1,1024}$/

/** `x-session-id`, for clients that cannot set the body's field. The body wins. */
export function sessionFromHeader<A extends Asked>(asked: A, headers: IncomingCall['headers']): A {
  const sessionId = headers['x-session-id']
  if (sessionId === undefined || asked.own.sessionId !== undefined) return asked
  if (typeof sessionId !== 'string' || !VISIBLE_ASCII.test(sessionId)) {
    throw new CompatError(
      'invalid_session_id',
      'The header x-session-id must be 1 to 1,024 visible ASCII characters.',
      {
        param: 'x-session-id',
      },
    )
  }
  return { ...asked, own: { ...asked.own, sessionId } }
}
