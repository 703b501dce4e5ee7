import type { ConversationRequest } from '../../../conversation/conversation.js'
import { effortOfBudget } from '../../../conversation/effort.js'
import { hasCacheMark } from '../../../conversation/read-chat-content.js'
import { readFunction, readSchema } from '../../../conversation/read-fields.js'
import type { ConversationSettings, Tool, ToolChoice } from '../../../conversation/settings.js'
import { isObject, isText, type JsonObject, textOf } from '../../../protocol/json-values.js'
import type { MessagesRequest } from '../../../protocol/messages-request.js'
import { FIELD_NAMES } from './fields.js'
import { readTurns } from './read-turns.js'

const NOT_OTHERS = new Set([...FIELD_NAMES, 'model', 'betas'])

/**
 * Reads a request of the Messages API as a conversation, which every adapter can send.
 *
 * - `thinking` and `output_config.effort` become an effort: for a budget, the word that is nearest to it. An effort above
 *   `high` becomes `high`, the highest one that every provider knows. Thinking that is disabled becomes `none`. Without
 *   any of them, the model decides.
 * - `context_management` and `citations` are left out, since no other API has them. They do not change the price of a
 *   token.
 * - Fields that only the host has allowed keep their names.
 */
export function toConversation(request: MessagesRequest): ConversationRequest {
  return { model: request.model, turns: readTurns(request), settings: readSettings(request) }
}

function readSettings(request: MessagesRequest): ConversationSettings {
  const { cache_control: mark, max_tokens: limit, metadata, output_config: output, tools } = request
  const { stop_sequences: stop, tool_choice: choice } = request
  const effort = toEffort(request)
  const { format } = isObject(output) ? output : {}
  const others: JsonObject = {}
  for (const name of Object.keys(request)) if (!NOT_OTHERS.has(name)) others[name] = request[name]
  return {
    bound: limit === undefined ? undefined : { tokens: limit, param: 'max_tokens' },
    stop: Array.isArray(stop) ? stop.filter((text) => typeof text === 'string') : [],
    temperature: numberIn(request.temperature),
    topP: numberIn(request.top_p),
    topK: numberIn(request.top_k),
    tools: Array.isArray(tools) ? tools.filter(isObject).map(toTool) : [],
    toolChoice: isObject(choice) ? toToolChoice(choice) : undefined,
    parallelCalls: isObject(choice) && choice.disable_parallel_tool_use === true ? false : undefined,
    format: isObject(format) ? readSchema({ name: 'output', schema: format.schema }) : undefined,
    reasoning: effort === undefined ? undefined : { effort, param: 'reasoning_effort' },
    user: isObject(metadata) ? textOf(metadata.user_id) : undefined,
    cache: mark === undefined ? undefined : true,
    others,
  }
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

const HIGHER = new Set<unknown>(['xhigh', 'max'])

function toEffort({ output_config: output, thinking }: MessagesRequest): string | undefined {
  const { type, budget_tokens: budget } = isObject(thinking) ? thinking : {}
  if (type === 'disabled') return 'none'
  const effort = isObject(output) ? output.effort : undefined
  if (isText(effort)) return HIGHER.has(effort) ? 'high' : effort
  return typeof budget === 'number' ? effortOfBudget(budget) : undefined
}

function toTool(tool: JsonObject): Tool {
  if (tool.type !== undefined && tool.type !== 'custom') return { kind: 'provider', definition: tool }
  const { description, input_examples: examples, input_schema: parameters, name, strict } = tool
  const words = [description, Array.isArray(examples) ? `Examples: ${JSON.stringify(examples)}` : undefined]
  const described = { name, description: words.filter(isText).join('\n\n'), parameters, strict }
  return readFunction(described, 'tools', hasCacheMark(tool))
}

function toToolChoice({ name, type }: JsonObject): ToolChoice | undefined {
  if (type === 'any') return 'required'
  if (type === 'tool') return isText(name) ? { kind: 'function', name } : undefined
  return type === 'none' ? type : 'auto'
}
