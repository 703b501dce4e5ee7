import { CompatError } from '../../base/errors.js'
import type { Asked } from '../../contracts/operation.js'
import type { ChatMessage, ChatRequest } from '../../protocol/chat-request.js'
import type { JsonObject } from '../../protocol/json-values.js'
import type { SentText } from '../../protocol/request-body.js'
import { readMessages } from '../../protocol/request-fields/messages.js'
import {
  OUTLINE_CODES,
  OUTLINE_NAMES,
  ownFields,
  readOutline,
} from '../../protocol/request-fields/own-fields.js'
import { readParameters, spellingsOf } from '../../protocol/request-fields/parameters.js'
import { RequestReading } from '../../protocol/request-fields/reading.js'
import { refuseFields } from '../../protocol/request-fields/refused-fields.js'

export interface ParsedChatRequest extends Asked {
  /** `n`, 1 if absent. */
  readonly n: number
  /** The request for providers, with the model key as `model`. */
  readonly forward: ChatRequest
  /** Whether the request has a prompt cache mark. */
  readonly marksCache: boolean
}

const NOT_PARAMETERS: ReadonlySet<string> = new Set([...OUTLINE_NAMES, 'messages', '__proto__'])
const SPELLINGS = spellingsOf(OUTLINE_NAMES)
/** Every step of a call loops over the fields. No real client sends more than a hundred. */
const MAX_FIELDS = 1_000

/**
 * Checks a request body and splits it into the part for providers and the router's own fields.
 *
 * Throws a `CompatError` of status 400 (404 if no model can have the name `model`). Its message names the first fault, its
 * `details` at most 20. Neither ever contains a value of the client's. The body is not changed. If the messages can be
 * sent unchanged, the result has the same list as the body.
 */
export function parseChatRequest(body: JsonObject, sentText?: SentText): ParsedChatRequest {
  const keys = Object.keys(body)
  if (keys.length > MAX_FIELDS) {
    throw new CompatError('invalid_request', 'The request body has more than 1,000 fields.')
  }
  refuseFields(keys, SPELLINGS)
  const reading = new RequestReading()
  const outline = readOutline(body, keys, reading)
  const messages = readMessages(body.messages, reading)
  const parameters = readParameters(
    body,
    keys.filter((key) => !NOT_PARAMETERS.has(key)),
    reading,
  )
  if (outline === undefined || reading.faults.list.length > 0) throw reading.faults.error(OUTLINE_CODES)
  return {
    model: outline.model,
    stream: parameters.stream === true,
    user: typeof parameters.user === 'string' ? parameters.user : undefined,
    n: (parameters.n as number | undefined) ?? 1,
    forward: Object.assign({ model: outline.model, messages: messages as ChatMessage[] }, parameters),
    own: ownFields(outline),
    unlisted: reading.unlisted,
    leftOut: [...reading.leftOut],
    marksCache: reading.marksCache,
    sentText,
  }
}
