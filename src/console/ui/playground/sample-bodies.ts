import type { CallBody, Message } from './call-body.js'

/** An API of the router through which the samples make the call of the playground. */
export type SampleApi = 'chat' | 'responses' | 'messages'

/** The Messages API requires a limit. */
const DEFAULT_MAX_TOKENS = 1_024

/** Returns the body of a chat completion in the format of an API. Fields that every API has are unchanged. */
export function bodyFor(api: SampleApi, chat: CallBody): CallBody {
  switch (api) {
    case 'chat':
      return chat
    case 'responses':
      return responseBody(chat)
    case 'messages':
      return messageBody(chat)
  }
}

function responseBody({ max_tokens: maxTokens, messages, model, tools, ...rest }: CallBody): CallBody {
  const { others, system } = split(messages)
  return {
    model,
    ...(system !== undefined && { instructions: system }),
    input: others.flatMap(toItems),
    ...rest,
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(Array.isArray(tools) && { tools: tools.map(flatTool) }),
  }
}

function messageBody({
  max_tokens: maxTokens = DEFAULT_MAX_TOKENS,
  messages,
  model,
  tools,
  ...rest
}: CallBody): CallBody {
  const { others, system } = split(messages)
  const said: { role: string; content: unknown }[] = []
  for (const message of others) {
    const last = said.at(-1)
    const next = toMessage(message)
    // The results of several calls are one message.
    const joins = message.role === 'tool' && last?.role === 'user' && Array.isArray(last.content)
    if (joins) last.content = [...(last.content as unknown[]), ...(next.content as unknown[])]
    else said.push(next)
  }
  return {
    model,
    max_tokens: maxTokens,
    ...(system !== undefined && { system }),
    messages: said,
    ...rest,
    ...(Array.isArray(tools) && { tools: tools.map(blockTool) }),
  }
}

function split(messages: unknown): { system: unknown; others: readonly Message[] } {
  const [first, ...rest] = messages as readonly Message[]
  return first?.role === 'system'
    ? { system: first.content, others: rest }
    : { system: undefined, others: messages as readonly Message[] }
}

interface Call {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

const callsOf = ({ tool_calls: calls }: Message): readonly Call[] =>
  Array.isArray(calls) ? (calls as readonly Call[]) : []

function toItems(message: Message): CallBody[] {
  const { content, refusal, role, tool_call_id: id } = message
  if (role === 'tool') return [{ type: 'function_call_output', call_id: id, output: content }]
  const said = content ?? (refusal === undefined ? '' : [{ type: 'refusal', refusal }])
  return [
    ...(said === '' && role === 'assistant' ? [] : [{ role, content: said }]),
    ...callsOf(message).map((call) => ({
      type: 'function_call',
      call_id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    })),
  ]
}

function toMessage(message: Message): { role: string; content: unknown } {
  const { content, refusal, role, tool_call_id: id } = message
  if (role === 'tool') return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] }
  const said = content ?? refusal ?? ''
  const calls = callsOf(message)
  if (calls.length === 0) return { role, content: said }
  const blocks = calls.map((call) => ({
    type: 'tool_use',
    id: call.id,
    name: call.function.name,
    input: inputOf(call.function.arguments),
  }))
  return { role, content: said === '' ? blocks : [{ type: 'text', text: said }, ...blocks] }
}

function inputOf(args: string): unknown {
  try {
    return JSON.parse(args)
  } catch {
    return {}
  }
}

/** A tool that is not a function is kept as typed. */
function flatTool(tool: CallBody): CallBody {
  return isFunction(tool) ? { type: 'function', ...tool.function } : tool
}

function blockTool(tool: CallBody): CallBody {
  if (!isFunction(tool)) return tool
  const { name, description, parameters = { type: 'object' } } = tool.function
  return { name, ...(description !== undefined && { description }), input_schema: parameters }
}

function isFunction(tool: CallBody): tool is CallBody & { readonly function: CallBody } {
  return typeof tool.function === 'object' && tool.function !== null
}
