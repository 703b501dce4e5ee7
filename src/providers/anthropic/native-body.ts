import { ofTypeObject } from '../../protocol/exact-data.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import type { MessagesRequest } from '../../protocol/messages-request.js'
import { fittingTurns, isBlank } from './native-turns.js'
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
  fitTools(body)
  fitSystem(body)
  const { messages, model } = request
  body.messages = fittingTurns(thinking.blocks ? messages : withoutThinking(messages), model)
  return body
}

/** The API refuses a block without text in the system prompt. */
function fitSystem(body: JsonObject): void {
  const { system } = body
  if (!Array.isArray(system) || !system.some(isBlank)) return
  const said = system.filter((block: JsonObject) => !isBlank(block))
  if (said.length > 0) body.system = said
  else delete body.system
}

/** The API refuses a choice without tools, and a schema without a type. */
function fitTools(body: JsonObject): void {
  const { tools } = body
  if (!Array.isArray(tools) || tools.length === 0) delete body.tool_choice
  else if (tools.some(lacksType)) body.tools = tools.map((tool) => (lacksType(tool) ? withType(tool) : tool))
}

interface ToolOfClient extends JsonObject {
  readonly input_schema: JsonObject
}

function lacksType(tool: unknown): tool is ToolOfClient {
  return isObject(tool) && isObject(tool.input_schema) && tool.input_schema.type === undefined
}

function withType(tool: ToolOfClient): JsonObject {
  return { ...tool, input_schema: ofTypeObject(tool.input_schema) }
}

/** Returns the body for counting the input tokens of such a request. */
export function countBody(request: MessagesRequest): JsonObject {
  const body: JsonObject = {}
  for (const name of COUNTED) if (request[name] !== undefined) body[name] = request[name]
  fitTools(body)
  fitSystem(body)
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
