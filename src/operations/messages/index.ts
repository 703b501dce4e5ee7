import type { Operation } from '../../contracts/operation.js'
import { messagesOpenApi } from './openapi.js'
import { MessagesPlan } from './plan.js'
import { MESSAGES_ERRORS } from './reply/errors.js'
import { PING } from './reply/event-writer.js'
import { type AskedMessages, readRequest } from './request/read-request.js'
import { unsupportedFields } from './unsupported.js'

/** `POST /messages`: Anthropic's Messages API. */
export const messages: Operation<AskedMessages> = {
  name: 'messages',
  path: '/messages',
  scope: 'models.run',
  idPrefix: 'msg_',
  modelOperation: 'chat',
  tokenHeader: 'x-api-key',
  errors: MESSAGES_ERRORS,
  keepAlive: PING,
  openapi: messagesOpenApi,
  read: ({ value }, headers) => readRequest(value, headers),
  unsupported: ({ native }, supported) => unsupportedFields(native, supported),
  plan: (asked, model, options) => new MessagesPlan(asked, model, options),

  // Labels cannot change the reply. Neither can the envelope of a provider key, which differs with each sealing.
  digest: ({ native, own: { provider, routing, sessionId }, stream }) => ({
    native,
    stream,
    provider,
    routing,
    sessionId,
  }),
}
