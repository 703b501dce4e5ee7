import type { Asked } from '../../contracts/operation.js'
import type { ChatMessage, ChatRequest } from '../../protocol/chat-request.js'
import type { JsonObject } from '../../protocol/json-values.js'
import type { SentText } from '../../protocol/request-body.js'
import { KNOWN_FIELDS } from '../../protocol/request-fields/known-fields.js'
import { readMessages } from '../../protocol/request-fields/messages.js'
import { closeRequest, openRequest } from '../../protocol/request-fields/open-request.js'
import { OUTLINE_NAMES } from '../../protocol/request-fields/own-fields.js'
import { readParameters } from '../../protocol/request-fields/parameters.js'
import { REFUSED_FIELDS, Spellings } from '../../protocol/request-fields/refused-fields.js'

export interface ParsedChatRequest extends Asked {
  /** `n`, 1 if absent. */
  readonly n: number
  /** The request for providers, with the model key as `model`. */
  readonly forward: ChatRequest
  /** Whether the request has a prompt cache mark. */
  readonly marksCache: boolean
}

const NOT_PARAMETERS: ReadonlySet<string> = new Set([...OUTLINE_NAMES, 'messages', '__proto__'])
const SPELLINGS = new Spellings([
  ...OUTLINE_NAMES,
  'messages',
  ...KNOWN_FIELDS.keys(),
  ...REFUSED_FIELDS.keys(),
])

/**
 * Checks a request body and splits it into the part for providers and the router's own fields.
 *
 * Throws a `CompatError` of status 400, or of status 404 if no model can have the name `model`. Does not change the
 * body. If the messages can be sent unchanged, the result shares their list with the body.
 */
export function parseChatRequest(body: JsonObject, sentText?: SentText): ParsedChatRequest {
  const request = openRequest(body, SPELLINGS)
  const { reading } = request
  const messages = readMessages(body.messages, reading)
  const parameters = readParameters(body, request, NOT_PARAMETERS)
  const { leftOut, model, own, unlisted } = closeRequest(request)
  return {
    model,
    stream: parameters.stream === true,
    user: typeof parameters.user === 'string' ? parameters.user : undefined,
    n: (parameters.n as number | undefined) ?? 1,
    forward: Object.assign({ model, messages: messages as ChatMessage[] }, parameters),
    own,
    unlisted,
    leftOut,
    marksCache: reading.marksCache,
    sentText,
  }
}
