import { effortOfBudget } from '../../../conversation/effort.js'
import type { ChatMessage, ChatRequest } from '../../../protocol/chat-request.js'
import { exactTextOf } from '../../../protocol/exact-data.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import type { MessagesRequest } from '../../../protocol/messages-request.js'
import { signCalls } from '../../../replies/call-signatures.js'
import type { Thought } from '../reasoning/thoughts.js'
import { blocksOf, isThinking } from './blocks.js'
import { FIELD_NAMES } from './fields.js'

/** Returns the thought of a thinking block. Undefined if it is not sent. */
export type ReadThought = (block: JsonObject) => Thought | undefined

const NOT_CHAT = new Set([...FIELD_NAMES, 'betas'])

/**
 * Converts a request of the Messages API to the chat request that every adapter can send.
 *
 * - The system prompt becomes the first message. The results of tools become messages of their own, before the rest of
 *   their turn.
 * - Documents of text become text. Other documents become files.
 * - `thinking` and `output_config.effort` become `reasoning_effort`: for a budget, the word that is nearest to it. An
 *   effort above `high` becomes `high`, the highest one that every provider knows. Thinking that is disabled becomes
 *   `none`. Without any of them, the model decides.
 * - `context_management` and `citations` are left out, since no other API has them. They do not change the price of a
 *   token.
 * - Fields that only the host has allowed keep their names.
 */
export function toChat(request: MessagesRequest, readThought: ReadThought): ChatRequest {
  const {
    max_tokens: limit,
    metadata,
    model,
    stop_sequences: stop,
    temperature,
    tool_choice: choice,
  } = request
  const { output_config: output, tools, top_k, top_p } = request
  const chat: ChatRequest = { model, messages: toChatMessages(request, readThought) }
  const set = (name: string, value: unknown): void => {
    if (value !== undefined) chat[name] = value
  }
  set('max_tokens', limit)
  set('temperature', temperature)
  set('top_p', top_p)
  set('top_k', top_k)
  set('stop', stop)
  if (Array.isArray(tools)) chat.tools = tools.map(toTool)
  if (isObject(choice)) {
    set('tool_choice', toToolChoice(choice))
    if (choice.disable_parallel_tool_use === true) chat.parallel_tool_calls = false
  }
  set('reasoning_effort', toEffort(request))
  if (isObject(output) && isObject(output.format)) {
    chat.response_format = {
      type: 'json_schema',
      json_schema: { name: 'output', schema: output.format.schema },
    }
  }
  if (isObject(metadata)) set('user', metadata.user_id)
  set('cache_control', request.cache_control)
  for (const name of Object.keys(request)) if (!NOT_CHAT.has(name)) chat[name] ??= request[name]
  return chat
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

function toChatMessages({ messages, system }: MessagesRequest, readThought: ReadThought): ChatMessage[] {
  const converted: ChatMessage[] = []
  const called = new Set<unknown>()
  const instructions = toContent(system)
  if (instructions.length > 0) converted.push({ role: 'system', content: plainly(instructions) })
  for (const { content, role } of messages) {
    const blocks = blocksOf(content)
    if (role === 'assistant') {
      for (const { id, type } of blocks) if (type === 'tool_use') called.add(id)
      converted.push(toReply(blocks, readThought))
    } else addTurn(role as string, blocks, called, converted)
  }
  return converted
}

/**
 * Adds the messages of a user's or a system's turn: first the results of calls, and then the rest. A result without a
 * call stays at its place.
 */
function addTurn(
  role: string,
  blocks: readonly JsonObject[],
  called: ReadonlySet<unknown>,
  converted: ChatMessage[],
): void {
  const isCalled = ({ tool_use_id: id, type }: JsonObject) => type === 'tool_result' && called.has(id)
  for (const block of blocks) if (isCalled(block)) converted.push(toToolMessage(block))
  let others: JsonObject[] = []
  const addOthers = () => {
    const parts = toContent(others)
    if (parts.length > 0) converted.push({ role, content: plainly(parts) })
    others = []
  }
  for (const block of blocks) {
    if (isCalled(block)) continue
    if (block.type !== 'tool_result') {
      others.push(block)
      continue
    }
    addOthers()
    converted.push(toToolMessage(block))
  }
  addOthers()
}

function toToolMessage(block: JsonObject): ChatMessage {
  const parts = toContent(block.content)
  const texts = parts.flatMap(({ text, type }) => (type === 'text' ? [text] : []))
  const message: ChatMessage = {
    role: 'tool',
    tool_call_id: block.tool_use_id,
    content: texts.length === parts.length ? texts.join('\n\n') : parts,
  }
  if (block.is_error === true) message.is_error = true
  if (block.cache_control !== undefined) message.cache_control = block.cache_control
  return message
}

function toReply(blocks: readonly JsonObject[], readThought: ReadThought): ChatMessage {
  let text = ''
  let reasoning = ''
  const details: JsonObject[] = []
  const calls: JsonObject[] = []
  let mark: unknown
  for (const block of blocks) {
    mark = block.cache_control ?? mark
    if (block.type === 'tool_use') calls.push(toCall(block))
    else if (isThinking(block)) {
      const thought = readThought(block)
      if (thought === undefined) continue
      if (isText(block.thinking)) reasoning += reasoning === '' ? block.thinking : `\n\n${block.thinking}`
      details.push(...toDetails(block, thought))
    } else for (const part of toParts(block)) text += String(part.text)
  }
  const message: ChatMessage = { role: 'assistant', content: text === '' && calls.length > 0 ? null : text }
  if (reasoning !== '') {
    message.reasoning = reasoning
    message.reasoning_content = reasoning
  }
  if (details.length > 0) message.reasoning_details = details
  signCalls(calls, details)
  if (calls.length > 0) message.tool_calls = calls
  if (mark !== undefined) message.cache_control = mark
  return message
}

/** A detail without text of its own has that of the block. */
function toDetails(block: JsonObject, { details, signature }: Thought): readonly JsonObject[] {
  if (details !== undefined) {
    return details.map((detail) =>
      detail.type === 'reasoning.text' && detail.text === undefined && isText(block.thinking)
        ? { ...detail, text: block.thinking }
        : detail,
    )
  }
  if (block.type === 'redacted_thinking') return [{ type: 'reasoning.encrypted', data: signature }]
  return [{ type: 'reasoning.text', text: block.thinking, signature }]
}

function toCall({ id, input, name }: JsonObject): JsonObject {
  return {
    id,
    type: 'function',
    function: { name, arguments: isObject(input) ? exactTextOf(input) : '{}' },
  }
}

/** Returns the chat parts for blocks of text and media. Omits empty text, since providers refuse it. */
function toContent(content: unknown): JsonObject[] {
  return blocksOf(content).flatMap((block) => {
    const parts = toParts(block)
    const last = parts.at(-1)
    if (last !== undefined && block.cache_control !== undefined) last.cache_control = block.cache_control
    return parts
  })
}

function toParts(block: JsonObject): JsonObject[] {
  const { source, text, title, type } = block
  switch (type) {
    case 'text':
      return toText(text)
    case 'image':
      return isObject(source) ? [toImage(source)] : []
    case 'document':
      return isObject(source) ? toDocument(block, source) : []
    case 'search_result':
      return toText([title, source, ...blocksOf(block.content).map((inner) => inner.text)])
    default:
      // A block that needs the host's permission. A model can still read it as text.
      return toText(JSON.stringify(block))
  }
}

function toText(text: unknown): JsonObject[] {
  const joined = Array.isArray(text) ? text.filter(isText).join('\n') : text
  return isText(joined) ? [{ type: 'text', text: joined }] : []
}

function toImage(source: JsonObject): JsonObject {
  if (source.type === 'file') return { type: 'file', file: { file_id: source.file_id } }
  return { type: 'image_url', image_url: { url: addressOf(source) } }
}

function addressOf({ data, media_type: mediaType, type, url }: JsonObject): unknown {
  return type === 'base64' ? `data:${String(mediaType)};base64,${String(data)}` : url
}

function toDocument({ context, title }: JsonObject, source: JsonObject): JsonObject[] {
  if (source.type === 'text') return toText([title, context, source.data])
  if (source.type === 'content') return [...toText([title, context]), ...toContent(source.content)]
  // A file at the provider has its own name there, so its title becomes text.
  if (source.type === 'file') {
    return [...toText([title, context]), { type: 'file', file: { file_id: source.file_id } }]
  }
  const file = { filename: isText(title) ? title : 'document.pdf', file_data: addressOf(source) }
  return [...toText(context), { type: 'file', file }]
}

/** A single text is sent as a string, which every server accepts. */
function plainly(parts: readonly JsonObject[]): unknown {
  const [only] = parts
  const isPlain = parts.length === 1 && only?.type === 'text' && only.cache_control === undefined
  return isPlain ? only.text : parts
}
