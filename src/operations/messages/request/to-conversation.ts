import type { ConversationRequest } from '../../../conversation/conversation.js'
import { effortOfBudget } from '../../../conversation/effort.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import type { MessagesRequest } from '../../../protocol/messages-request.js'
import { FIELD_NAMES } from './fields.js'
import { readTurns } from './read-turns.js'

const NOT_CHAT = new Set([...FIELD_NAMES, 'betas'])

/**
 * Reads a request of the Messages API as a conversation with the settings of a chat, which every adapter can send.
 *
 * - `thinking` and `output_config.effort` become `reasoning_effort`: for a budget, the word that is nearest to it. An
 *   effort above `high` becomes `high`, the highest one that every provider knows. Thinking that is disabled becomes
 *   `none`. Without any of them, the model decides.
 * - `context_management` and `citations` are left out, since no other API has them. They do not change the price of a
 *   token.
 * - Fields that only the host has allowed keep their names.
 */
export function toConversation(request: MessagesRequest): ConversationRequest {
  const {
    max_tokens: limit,
    metadata,
    model,
    stop_sequences: stop,
    temperature,
    tool_choice: choice,
  } = request
  const { output_config: output, tools, top_k, top_p } = request
  const conversation: ConversationRequest = { model, turns: readTurns(request) }
  const set = (name: string, value: unknown): void => {
    if (value !== undefined) conversation[name] = value
  }
  set('max_tokens', limit)
  set('temperature', temperature)
  set('top_p', top_p)
  set('top_k', top_k)
  set('stop', stop)
  if (Array.isArray(tools)) conversation.tools = tools.map(toTool)
  if (isObject(choice)) {
    set('tool_choice', toToolChoice(choice))
    if (choice.disable_parallel_tool_use === true) conversation.parallel_tool_calls = false
  }
  set('reasoning_effort', toEffort(request))
  if (isObject(output) && isObject(output.format)) {
    conversation.response_format = {
      type: 'json_schema',
      json_schema: { name: 'output', schema: output.format.schema },
    }
  }
  if (isObject(metadata)) set('user', metadata.user_id)
  set('cache_control', request.cache_control)
  for (const name of Object.keys(request)) if (!NOT_CHAT.has(name)) conversation[name] ??= request[name]
  return conversation
}

const HIGHER = new Set<unknown>(['xhigh', 'max'])

function toEffort({ output_config: output, thinking }: MessagesRequest): string | undefined {
  const { type, budget_tokens: budget } = isObject(thinking) ? thinking : {}
  if (type === 'disabled') return 'none'
  const effort = isObject(output) ? output.effort : undefined
  if (isText(effort)) return HIGHER.has(effort) ? 'high' : effort
  return typeof budget === 'number' ? effortOfBudget(budget) : undefined
}

function toTool(tool: unknown): unknown {
  if (!isObject(tool) || (tool.type !== undefined && tool.type !== 'custom')) return tool
  const { cache_control: mark, description, input_examples: examples, input_schema, name, strict } = tool
  const words = [description, Array.isArray(examples) ? `Examples: ${JSON.stringify(examples)}` : undefined]
    .filter(isText)
    .join('\n\n')
  return {
    type: 'function',
    function: {
      name,
      ...(words !== '' && { description: words }),
      parameters: input_schema,
      ...(strict !== undefined && { strict }),
    },
    ...(mark !== undefined && { cache_control: mark }),
  }
}

function toToolChoice({ name, type }: JsonObject): unknown {
  if (type === 'any') return 'required'
  return type === 'tool' ? { type: 'function', function: { name } } : type
}
