import type { JsonObject } from '../../protocol/json-values.js'
import type { MessagesRequest } from '../../protocol/messages-request.js'
import { fittingTurns } from './native-turns.js'
import type { SentThinking } from './request.js'

const THINKING = new Set<unknown>(['thinking', 'redacted_thinking'])
const isThinking = ({ type }: JsonObject): boolean => THINKING.has(type)
/** The fields for which tokens are counted. */
const COUNTED = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config'] as const

/** Returns the body for a request in the format of the API. */
export function nativeBody(request: MessagesRequest, stream: boolean, thinking: SentThinking): JsonObject {
  const body: JsonObject = {}
  for (const name of Object.keys(request)) if (name !== 'betas') body[name] = request[name]
  if (stream) body.stream = true
  if (!thinking.budget) delete body.thinking
  const { messages, model } = request
  body.messages = fittingTurns(thinking.blocks ? messages : withoutThinking(messages), model)
  return body
}

/** Returns the body for counting the input tokens of such a request. */
export function countBody(request: MessagesRequest): JsonObject {
  const body: JsonObject = {}
  for (const name of COUNTED) if (request[name] !== undefined) body[name] = request[name]
  body.messages = fittingTurns(request.messages, request.model)
  return body
}

function withoutThinking(messages: MessagesRequest['messages']): JsonObject[] {
  return messages.flatMap((message): JsonObject[] => {
    const { content } = message
    if (!Array.isArray(content) || !content.some(isThinking)) return [message]
    const rest = content.filter((block: JsonObject) => !isThinking(block))
    return rest.length === 0 ? [] : [{ ...message, content: rest }]
  })
}
