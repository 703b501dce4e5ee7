import type { ModelOperation } from '../../contracts/operation.js'
import { hasMethod } from '../../rules/adapter-methods.js'
import { chatOpenApi } from './openapi.js'
import { ChatPlan } from './plan.js'
import { type ParsedChatRequest, parseChatRequest } from './read-request.js'
import { reasoningNameFor } from './reply/reasoning-name.js'
import { unsupportedFields } from './unsupported.js'

/** `POST /chat/completions`. */
export const chat: ModelOperation<ParsedChatRequest> = {
  name: 'chat',
  path: '/chat/completions',
  scope: 'models.run',
  idPrefix: 'chatcmpl-',
  openapi: chatOpenApi,
  read: ({ value, sentText }) => parseChatRequest(value, sentText),
  unsupported: ({ forward }, supported) => unsupportedFields(Object.entries(forward), supported),
  plan: (asked, model, options, reader) =>
    new ChatPlan(asked, model, options, reasoningNameFor(options.reasoningName, reader)),

  // Labels cannot change the reply. Neither can the envelope of a provider key, which differs with each sealing.
  digest: ({ forward, own: { provider, routing, sessionId }, stream }) => ({
    forward: { ...forward, stream },
    provider,
    routing,
    sessionId,
  }),

  isServedBy: (adapter) => hasMethod(adapter, 'chat') || hasMethod(adapter, 'converse'),
}
