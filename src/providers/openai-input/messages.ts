import type { Answer, ThoughtPiece, ToolCall, Turn } from '../../conversation/conversation.js'
import { settledTurns } from '../../conversation/turns.js'
import type { ChatMessage } from '../../protocol/chat-request.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { hasCacheMark, readContent, readText } from './content.js'
import { GOOGLE_FORMAT } from './thoughts.js'
import { unsupported } from './unsupported.js'

/**
 * Reads the messages of a chat. A call in the old form, `function_call`, is read as a
 * tool call, and the message of role `function` after it as its result.
 * Results stand right behind the message with their calls.
 *
 * Fields that only label a message or repeat parts of a reply (`name`, `parsed`, `annotations`, …) are ignored.
 * Content that cannot be read throws `unsupported-request` with its path.
 */
export function readTurns(messages: readonly ChatMessage[]): readonly Turn[] {
  let oldCall = ''
  const read = messages.map((message, index) => {
    const param = `messages.${index}`
    if (isObject(message.function_call)) oldCall = `function_call_${index}`
    const one = readByRole(message, param, oldCall)
    return hasCacheMark(message) ? markLast(one) : one
  })
  return settledTurns(read)
}

/** A cache mark on a message applies to its last part. */
function markLast(message: Turn): Turn {
  const last = message.content.at(-1)
  if (last === undefined) return message
  return { ...message, content: [...message.content.slice(0, -1), { ...last, cache: true }] } as Turn
}

/** @param oldCall the id given to the latest call in the old form, which has none */
function readByRole(message: ChatMessage, param: string, oldCall: string): Turn {
  const contentParam = `${param}.content`
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: message.role, param, content: readText(message.content, contentParam) }
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

function readAssistant(message: ChatMessage, param: string, oldCall: string): Answer {
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
  const thoughts = thoughtsOf(message, parts)
  const reasoning = textOf(message.reasoning_content) ?? textOf(message.reasoning) ?? textOf(textIn(thoughts))
  const toolCalls = readToolCalls(message.tool_calls, `${param}.tool_calls`, signaturesIn(thoughts))
  if (isObject(called)) toolCalls.push(readFunction(called, oldCall, `${param}.function_call`))
  return {
    role: 'assistant',
    param,
    content:
      text.length === 0 && refusal ? [{ type: 'text', text: refusal, isRefusal: true, cache: false }] : text,
    toolCalls,
    ...(reasoning !== undefined && { reasoning }),
    thoughts,
  }
}

const isThought = (part: unknown): part is JsonObject =>
  isObject(part) && (part.type === 'thinking' || part.type === 'redacted_thinking')

/** The thoughts of a reply: OpenRouter's `reasoning_details`, LiteLLM's `thinking_blocks`, or Mistral's parts. */
function thoughtsOf(message: ChatMessage, parts: readonly unknown[]): readonly ThoughtPiece[] {
  const { reasoning_details: details, thinking_blocks: blocks } = message
  if (Array.isArray(details) && details.length > 0) return details.filter(isObject).map(readDetail)
  const thoughts = Array.isArray(blocks) && blocks.length > 0 ? blocks : parts
  return thoughts.filter(isThought).map((thought, index): ThoughtPiece => {
    const { data, signature, thinking, type } = thought
    if (type === 'redacted_thinking') return { kind: 'encrypted', index, ...texts({ data }) }
    const text = Array.isArray(thinking) ? textIn(thinking.filter(isObject)) : thinking
    return { kind: 'text', index, ...texts({ text, signature }) }
  })
}

const KINDS: ReadonlyMap<unknown, ThoughtPiece['kind']> = new Map([
  ['reasoning.text', 'text'],
  ['reasoning.encrypted', 'encrypted'],
])

function readDetail({ data, format, id, index, signature, text, type }: JsonObject): ThoughtPiece {
  return {
    kind: KINDS.get(type) ?? 'other',
    ...((typeof index === 'number' || typeof index === 'string') && { index }),
    ...texts({ data, format, id, signature, text }),
  }
}

/** Returns the members that are texts. */
function texts<Name extends string>(members: Readonly<Record<Name, unknown>>): { [name in Name]?: string } {
  const given: { [name in Name]?: string } = {}
  for (const name in members) {
    const value: unknown = members[name]
    if (typeof value === 'string') given[name] = value
  }
  return given
}

const textIn = (items: readonly { readonly text?: unknown }[]) =>
  items.map(({ text }) => textOf(text) ?? '').join('')

/** Google's signatures of calls, by the ids of these. OpenRouter keeps them among the thoughts. */
function signaturesIn(thoughts: readonly ThoughtPiece[]): ReadonlyMap<string, string> {
  const signatures = new Map<string, string>()
  for (const { data, format, id } of thoughts) {
    if (format === GOOGLE_FORMAT && id !== undefined && data && !signatures.has(id)) signatures.set(id, data)
  }
  return signatures
}

function readToolCalls(calls: unknown, param: string, signatures: ReadonlyMap<string, string>): ToolCall[] {
  if (calls === undefined || calls === null) return []
  if (!Array.isArray(calls)) throw unsupported(param, `${param} must be an array.`)
  return calls.map((call: unknown, index) => readToolCall(call, `${param}.${index}`, signatures))
}

function readToolCall(call: unknown, param: string, signatures: ReadonlyMap<string, string>): ToolCall {
  const id = textOf(isObject(call) ? call.id : undefined) ?? ''
  if (isObject(call) && isObject(call.custom)) {
    const { input, name } = call.custom
    return {
      id,
      kind: 'custom',
      name: requiredString(name, `${param}.custom.name`),
      input: typeof input === 'string' ? input : '',
    }
  }
  if (!isObject(call) || !isObject(call.function)) {
    throw unsupported(param, `${param} must be a function call.`)
  }
  const read = readFunction(call.function, id, `${param}.function`)
  const signature = signatureIn(call) ?? signatures.get(id)
  return signature === undefined ? read : { ...read, signature }
}

function readFunction({ arguments: text, name }: JsonObject, id: string, param: string): ToolCall {
  const input = text ?? ''
  if (typeof input !== 'string')
    throw unsupported(`${param}.arguments`, `${param}.arguments must be a string.`)
  return { id, kind: 'function', name: requiredString(name, `${param}.name`), input }
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
