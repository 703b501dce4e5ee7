import { isObject, type Json, type JsonObject } from './json.js'

/** The APIs of the router that reach a provider. */
export type Api = 'chat' | 'responses' | 'messages' | 'count' | 'embeddings'

export const PATHS: Readonly<Record<Api, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
  count: '/messages/count_tokens',
  embeddings: '/embeddings',
}

/** Fields of the router and of every API, which stay as they are. */
const SHARED =
  'model stream temperature top_p user session_id routing app_id action connected parallel_tool_calls'.split(
    ' ',
  )

function shared(chat: JsonObject): JsonObject {
  return Object.fromEntries(SHARED.flatMap((name) => (chat[name] === undefined ? [] : [[name, chat[name]]])))
}

function listIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : []
}

function member(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? value[name] : undefined
}

/** The same request as a client of OpenAI's Responses API would write it. */
export function asResponses(chat: JsonObject): JsonObject {
  const bound = chat.max_completion_tokens ?? chat.max_tokens
  const format = chat.response_format
  return {
    ...shared(chat),
    input: listIn(chat.messages).flatMap(toItems),
    ...(bound !== undefined && { max_output_tokens: bound }),
    ...(chat.tools !== undefined && {
      tools: listIn(chat.tools).map((tool) => ({ type: 'function', ...(tool.function as JsonObject) })),
    }),
    ...(chat.reasoning_effort !== undefined && { reasoning: { effort: chat.reasoning_effort } }),
    ...(isObject(format) && {
      text: {
        format: { type: format.type!, ...(isObject(format.json_schema) ? format.json_schema : {}) },
      },
    }),
  }
}

function toItems({ content = null, role, tool_call_id: id, tool_calls: calls }: JsonObject): JsonObject[] {
  if (role === 'tool') return [{ type: 'function_call_output', call_id: id!, output: toItemContent(content) }]
  const said =
    content === null ? [] : [{ type: 'message', role: role!, content: toItemContent(content, role) }]
  const called = listIn(calls).map((call) => ({
    type: 'function_call',
    call_id: call.id!,
    name: member(call.function, 'name')!,
    arguments: member(call.function, 'arguments')!,
  }))
  return [...said, ...called]
}

function toItemContent(content: Json, role?: Json): Json {
  if (!Array.isArray(content)) return content
  return listIn(content).map((part) => {
    const { image_url: image, type } = part
    if (type === 'text') return { ...part, type: role === 'assistant' ? 'output_text' : 'input_text' }
    if (type === 'image_url') return { type: 'input_image', image_url: member(image, 'url') ?? image! }
    if (type !== 'file') return part
    const data = member(part.file, 'file_data')!
    return String(data).startsWith('https:')
      ? { type: 'input_file', file_url: data }
      : { type: 'input_file', filename: member(part.file, 'filename')!, file_data: data }
  })
}

const USUAL_BOUND = 500

/** The same request as a client of Anthropic's Messages API would write it. */
export function asMessages(chat: JsonObject): JsonObject {
  const messages = listIn(chat.messages)
  const isSystem = ({ role }: JsonObject) => role === 'system' || role === 'developer'
  const system = messages.filter(isSystem).flatMap(({ content }) => toBlocks(content!))
  const { thinking } = chat
  return {
    ...shared(chat),
    max_tokens: chat.max_completion_tokens ?? chat.max_tokens ?? USUAL_BOUND,
    ...(system.length > 0 && { system }),
    messages: messages.filter((message) => !isSystem(message)).map(toMessage),
    ...(chat.tools !== undefined && {
      tools: listIn(chat.tools).map(({ function: of }) => ({
        name: member(of, 'name')!,
        description: member(of, 'description') ?? '',
        input_schema: member(of, 'parameters')!,
      })),
    }),
    ...(isObject(thinking) && { thinking }),
  }
}

function toMessage({ content = null, role, tool_call_id: id, tool_calls: calls }: JsonObject): JsonObject {
  if (role === 'tool') {
    return {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id!, content: toBlocks(content) }],
    }
  }
  if (calls === undefined && typeof content === 'string') return { role: role!, content }
  const uses = listIn(calls).map((call) => ({
    type: 'tool_use',
    id: call.id!,
    name: member(call.function, 'name')!,
    input: JSON.parse(String(member(call.function, 'arguments'))) as Json,
  }))
  return { role: role!, content: [...toBlocks(content), ...uses] }
}

function toBlocks(content: Json): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listIn(content).map((part) => {
    const { image_url: image, type } = part
    if (type === 'image_url') return { type: 'image', source: toSource(member(image, 'url') ?? image!) }
    if (type !== 'file') return part
    return {
      type: 'document',
      source: toSource(member(part.file, 'file_data')!),
      title: member(part.file, 'filename') ?? 'a file',
    }
  })
}

function toSource(address: Json): JsonObject {
  const [, type = 'application/octet-stream', data] = /^data:([^;,]*)(?:;base64)?,(.*)$/s.exec(
    String(address),
  ) ?? [undefined, undefined, String(address)]
  if (String(address).startsWith('https:')) return { type: 'url', url: address }
  const isText = type.startsWith('text/')
  return isText
    ? { type: 'text', media_type: 'text/plain', data: Buffer.from(data!, 'base64').toString() }
    : { type: 'base64', media_type: type === '' ? 'application/octet-stream' : type, data: data! }
}

/** A request to count the tokens of a message. */
export function asCount({ max_tokens: _, stream: __, temperature: ___, ...message }: JsonObject): JsonObject {
  return message
}
