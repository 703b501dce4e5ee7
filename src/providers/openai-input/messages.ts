import { type CallsAndResults, NO_RESULT, orphanWords, settleResults } from '../../conversation/results.js'
import { readArguments } from '../../protocol/call-arguments.js'
import type { ChatMessage } from '../../protocol/chat-request.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { type ContentPart, hasCacheMark, readContent, readText, type TextPart } from './content.js'
import { unsupported } from './unsupported.js'

export interface InputToolCall {
  readonly id: string
  readonly name: string
  /** The parsed arguments. Text that is not a JSON object becomes a member of one. */
  readonly input: JsonObject
  /** Google's signature of the thought that led to the call. */
  readonly thoughtSignature?: string
}

/** A message of the request, as a union of its forms. `param` names it in errors. */
export type InputMessage = { readonly param: string } & (
  | { readonly role: 'system'; readonly content: readonly TextPart[] }
  | { readonly role: 'user'; readonly content: readonly ContentPart[] }
  | {
      readonly role: 'assistant'
      readonly content: readonly TextPart[]
      readonly toolCalls: readonly InputToolCall[]
      readonly reasoning?: string
      /** In OpenRouter's shape, whichever shape it came in. */
      readonly reasoningDetails: readonly JsonObject[]
    }
  | {
      readonly role: 'tool'
      readonly toolCallId: string
      readonly content: readonly ContentPart[]
      readonly isError: boolean
    }
)

/**
 * Reads the messages of a request. `developer` counts as `system`. A call in the old form, `function_call`, is read as a
 * tool call, and the message of role `function` after it as its result.
 * Results stand right behind the message with their calls.
 *
 * Fields that only label a message or repeat parts of a reply (`name`, `parsed`, `annotations`, …) are ignored.
 * Content that cannot be read throws `unsupported-request` with its path.
 */
export function readMessages(messages: readonly ChatMessage[]): readonly InputMessage[] {
  let oldCall = ''
  const read = messages.map((message, index) => {
    const param = `messages.${index}`
    if (isObject(message.function_call)) oldCall = `function_call_${index}`
    const one = readByRole(message, param, oldCall)
    return hasCacheMark(message) ? markLast(one) : one
  })
  return settleResults(read, CALLS)
}

const plainText = (text: string): TextPart => ({ type: 'text', text, cache: false })

const CALLS: CallsAndResults<InputMessage> = {
  callsOf: (message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : []),
  resultOf: (message) => (message.role === 'tool' ? message.toolCallId : undefined),
  missing: (id) => ({
    role: 'tool',
    param: 'messages',
    toolCallId: id,
    content: [plainText(NO_RESULT)],
    isError: true,
  }),
  saidBy: ({ content }) => content.map((part) => (part.type === 'text' ? part.text : part.source)),
  orphan: ({ content, param }, id) => ({
    role: 'user',
    param,
    content: [plainText(orphanWords(id)), ...content],
  }),
}

/** A cache mark on a message applies to its last part. */
function markLast<Message extends InputMessage>(message: Message): Message {
  const last = message.content.at(-1)
  if (last === undefined) return message
  return { ...message, content: [...message.content.slice(0, -1), { ...last, cache: true }] }
}

/** @param oldCall the id given to the latest call in the old form, which has none */
function readByRole(message: ChatMessage, param: string, oldCall: string): InputMessage {
  const contentParam = `${param}.content`
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', param, content: readText(message.content, contentParam) }
    case 'user':
      return { role: 'user', param, content: readContent(message.content, contentParam) }
    case 'assistant':
      return readAssistant(message, param, oldCall)
    case 'function':
      return {
        role: 'tool',
        param,
        toolCallId: oldCall || requiredString(message.name, `${param}.name`),
        content: readContent(message.content, contentParam),
        isError: false,
      }
    case 'tool':
      return {
        role: 'tool',
        param,
        toolCallId: textOf(message.tool_call_id) ?? '',
        content: readContent(message.content, contentParam),
        isError: message.is_error === true,
      }
    default:
      throw unsupported(
        `${param}.role`,
        `${param}.role must be "system", "developer", "user", "assistant", "tool" or "function" with this provider.`,
      )
  }
}

function readAssistant(message: ChatMessage, param: string, oldCall: string): InputMessage {
  if (message.audio !== undefined && message.audio !== null) {
    throw unsupported(`${param}.audio`, `${param}.audio is not supported by this provider.`)
  }
  const { content, function_call: called } = message
  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  const text = readText(
    parts.some(isThought) ? parts.filter((part) => !isThought(part)) : content,
    `${param}.content`,
  )
  const refusal = textOf(message.refusal)
  const reasoningDetails = detailsOf(message, parts)
  const reasoning =
    textOf(message.reasoning_content) ?? textOf(message.reasoning) ?? textOf(textIn(reasoningDetails))
  const toolCalls = readToolCalls(message.tool_calls, `${param}.tool_calls`)
  if (isObject(called)) toolCalls.push(readFunction(called, oldCall, `${param}.function_call`))
  return {
    role: 'assistant',
    param,
    content: text.length === 0 && refusal ? [{ type: 'text', text: refusal, cache: false }] : text,
    toolCalls,
    ...(reasoning !== undefined && { reasoning }),
    reasoningDetails,
  }
}

const isThought = (part: unknown): part is JsonObject =>
  isObject(part) && (part.type === 'thinking' || part.type === 'redacted_thinking')

/** The reasoning of a reply: OpenRouter's `reasoning_details`, LiteLLM's `thinking_blocks`, or Mistral's parts. */
function detailsOf(message: ChatMessage, parts: readonly unknown[]): readonly JsonObject[] {
  const { reasoning_details: details, thinking_blocks: blocks } = message
  if (Array.isArray(details) && details.length > 0) return details.filter(isObject)
  const thoughts = Array.isArray(blocks) && blocks.length > 0 ? blocks : parts
  return thoughts.filter(isThought).map((thought, index) => {
    const { data, signature, thinking, type } = thought
    if (type === 'redacted_thinking') return { type: 'reasoning.encrypted', data, index }
    const text = Array.isArray(thinking) ? textIn(thinking.filter(isObject)) : thinking
    return { type: 'reasoning.text', text, ...(signature !== undefined && { signature }), index }
  })
}

const textIn = (items: readonly JsonObject[]) => items.map(({ text }) => textOf(text) ?? '').join('')

function readToolCalls(calls: unknown, param: string): InputToolCall[] {
  if (calls === undefined || calls === null) return []
  if (!Array.isArray(calls)) throw unsupported(param, `${param} must be an array.`)
  return calls.map((call: unknown, index) => readToolCall(call, `${param}.${index}`))
}

function readToolCall(call: unknown, param: string): InputToolCall {
  if (isObject(call) && isObject(call.custom)) {
    const { input, name } = call.custom
    return {
      id: textOf(call.id) ?? '',
      name: requiredString(name, `${param}.custom.name`),
      input: { input: typeof input === 'string' ? input : '' },
    }
  }
  if (!isObject(call) || !isObject(call.function)) {
    throw unsupported(param, `${param} must be a function call.`)
  }
  const read = readFunction(call.function, textOf(call.id) ?? '', `${param}.function`)
  const thoughtSignature = signatureIn(call)
  return thoughtSignature === undefined ? read : { ...read, thoughtSignature }
}

function readFunction({ arguments: text, name }: JsonObject, id: string, param: string): InputToolCall {
  const given = text ?? ''
  if (typeof given !== 'string')
    throw unsupported(`${param}.arguments`, `${param}.arguments must be a string.`)
  return { id, name: requiredString(name, `${param}.name`), input: readArguments(given) }
}

function signatureIn({
  extra_content: extra,
  provider_specific_fields: fields,
}: JsonObject): string | undefined {
  const google = isObject(extra) ? extra.google : undefined
  return (
    textOf(isObject(google) ? google.thought_signature : undefined) ??
    textOf(isObject(fields) ? fields.thought_signature : undefined)
  )
}

function requiredString(value: unknown, param: string): string {
  const text = textOf(value)
  if (text === undefined) throw unsupported(param, `${param} must be a string.`)
  return text
}
