import type { IncomingCall } from '../../contracts/reply.js'
import { CompatError } from '../../errors.js'
import type { ParsedChatRequest } from '../../protocol/chat-request.js'

const VISIBLE_ASCII = /^[\x21-\x7e]{1,1024}$/

/** `x-session-id`, for clients that cannot set the body's field. The body wins. */
export function sessionFromHeader(
  request: ParsedChatRequest,
  headers: IncomingCall['headers'],
): ParsedChatRequest {
  const sessionId = headers['x-session-id']
  if (sessionId === undefined || request.own.sessionId !== undefined) return request
  if (typeof sessionId !== 'string' || !VISIBLE_ASCII.test(sessionId)) {
    throw new CompatError(
      'invalid_session_id',
      'The header x-session-id must be 1 to 1,024 visible ASCII characters.',
      {
        param: 'x-session-id',
      },
    )
  }
  return { ...request, own: { ...request.own, sessionId } }
}
