import { type CallIds, callIdsFor } from '../../conversation/call-ids.js'
import {
  ANSWER,
  attachedWords,
  CHAT_CALLS,
  callsOf,
  isMediaOfResult,
  isUnanswered,
  partsOf,
} from '../../conversation/chat-results.js'
import { settleResults } from '../../conversation/results.js'
import type { ChatMessage } from '../../protocol/chat-request.js'
import { isObject, isText, type JsonObject, textOf } from '../../protocol/json-values.js'
import { idForChats, idForMistral } from '../openai-input/call-ids.js'

export type ReasoningField = 'reasoning' | 'reasoning_content'

/** How a provider gets the messages of a conversation. */
export interface HistoryForm {
  /**
   * The reasoning of earlier replies: `sent` in the provider's own field, `omitted`, or sent with every reply in this
   * field.
   */
  readonly reasoning: 'sent' | 'omitted' | ReasoningField
  /** The provider's own field. While it is unknown, reasoning is sent in the first field that the client used. */
  readonly ownField: ReasoningField | undefined
  /** Whether images and signatures of earlier replies are sent. */
  readonly extras: boolean
  /** Whether calls have ids of nine letters and digits, the only ones that Mistral accepts. */
  readonly shortIds: boolean
  /** Whether a tool call without Google's signature gets the one that Google accepts for calls of other models. */
  readonly signsCalls: boolean
  /** Whether the role `developer` is sent. If not, such messages are sent with the role `system`. */
  readonly developerRole: boolean
  /** Whether all system messages are sent as one, at the beginning. Some chat templates take them nowhere else. */
  readonly systemFirst: boolean
  /** Whether a reply stands between the results of calls and the next message. Mistral requires one. */
  readonly answersResults: boolean
  /** Whether a reply at the end, which the model continues, is marked as `prefix`. Mistral requires that. */
  readonly marksPrefix: boolean
  /** Whether images, files and other media are replaced by words, for models that read only text. */
  readonly textAlone: boolean
}

export const REASONING_FIELDS = [
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'thinking_blocks',
] as const

export const CALL_EXTRAS = ['extra_content', 'provider_specific_fields'] as const

/** Some providers refuse a reply without any reasoning, and some an empty one. */
const NO_REASONING = ' '
/** https://ai.google.dev/gemini-api/docs/thought-signatures */
export const UNSIGNED = 'skip_thought_signature_validator'

/** Returns the messages to send. A message that needs no change is returned as the same object. */
export function prepareMessages(messages: readonly ChatMessage[], form: HistoryForm): ChatMessage[] {
  const prepared: ChatMessage[] = []
  const settled = settleResults(form.textAlone ? messages.map(inWords) : messages, CHAT_CALLS)
  const ids = callIdsFor(settled, CHAT_CALLS, form.shortIds ? idForMistral : idForChats)
  /** Media in the results of tools, which chat providers take from users only. */
  let media: unknown[] = []
  for (const message of settled) {
    const sent = prepareMessage(message, form, ids)
    if (sent === undefined) continue
    if (sent.role === 'tool') {
      prepared.push(withoutMedia(sent, media))
      continue
    }
    if (media.length === 0) prepared.push(sent)
    else if (sent.role === 'user') prepared.push({ ...sent, content: [...media, ...partsOf(sent.content)] })
    else prepared.push({ role: 'user', content: media }, sent)
    if (media.length > 0) media = []
  }
  if (media.length > 0) prepared.push({ role: 'user', content: media })
  const ordered = form.systemFirst ? withSystemFirst(prepared) : prepared
  const answered = form.answersResults ? withAnswers(ordered) : ordered
  const last = answered.at(-1)
  if (form.marksPrefix && last?.role === 'assistant')
    answered[answered.length - 1] = { ...last, prefix: true }
  return answered
}

/** The types of the parts of a conversation that are media. */
export function mediaIn(messages: readonly ChatMessage[]): ReadonlySet<string> {
  return new Set(
    messages
      .flatMap(({ content, role }) => (role !== 'assistant' && Array.isArray(content) ? content : []))
      .filter(isMediaOfResult)
      .map((part: unknown) => (isObject(part) && isText(part.type) ? part.type : 'content')),
  )
}

/** Whether a message has a part that is no text: media, or the words with which a model refused. */
export function hasOtherParts({ content: parts }: ChatMessage): boolean {
  return Array.isArray(parts) && parts.some((part) => isMediaOfResult(part) && !isThinking(part))
}

/** Returns a message with words in place of its media. */
function inWords(message: ChatMessage): ChatMessage {
  const { content: parts } = message
  if (!Array.isArray(parts) || !hasOtherParts(message)) return message
  return { ...message, content: parts.filter(isObject).map(wordsOf).join('\n\n') }
}

function wordsOf({ file, refusal, text, type }: JsonObject): string {
  if (type === 'text' || type === 'refusal') return textOf(text ?? refusal) ?? ''
  const { filename = 'A file' } = isObject(file) ? file : {}
  const what = type === 'image_url' ? 'An image' : type === 'file' ? String(filename) : 'A part'
  return `[${what} was left out here: this model reads only text.]`
}

const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer'

/** Whether a system message comes after one of another role. */
export function hasLateSystem(messages: readonly ChatMessage[]): boolean {
  const first = messages.findIndex((message) => !isSystem(message))
  return first >= 0 && messages.slice(first).some(isSystem)
}

function withSystemFirst(messages: ChatMessage[]): ChatMessage[] {
  const instructions = messages.filter(isSystem)
  const [first] = instructions
  if (first === undefined) return messages
  const joined = instructions.every(({ content }) => typeof content === 'string')
    ? instructions.map(({ content }) => content).join('\n\n')
    : instructions.flatMap(({ content }) => partsOf(content))
  const rest = messages.filter((message) => !isSystem(message))
  return [{ role: first.role, content: joined }, ...rest]
}

function withAnswers(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.flatMap((message, position) =>
    isUnanswered(messages[position - 1], message)
      ? [{ role: 'assistant', content: ANSWER }, message]
      : [message],
  )
}

/** Returns the result of a call with its text alone. Adds its other parts to `media`, after words that name the call. */
function withoutMedia(message: ChatMessage, media: unknown[]): ChatMessage {
  const { content: parts } = message
  if (!Array.isArray(parts) || !parts.some(isMediaOfResult)) return message
  media.push({ type: 'text', text: attachedWords(message.tool_call_id) })
  for (const part of parts.filter(isMediaOfResult)) media.push(part)
  const texts = parts.filter(isObject).flatMap(({ text, type }) => (type === 'text' ? [String(text)] : []))
  return { ...message, content: texts.join('\n\n') }
}

/** Whether a message has reasoning of an earlier reply, in any of its forms. */
export function hasReasoning(message: ChatMessage): boolean {
  return REASONING_FIELDS.some((field) => field in message) || hasThinkingParts(message)
}

/** Whether a message has images or signatures of an earlier reply. */
export function hasExtras(message: ChatMessage): boolean {
  return 'images' in message || callsOf(message).some((call) => CALL_EXTRAS.some((field) => field in call))
}

function prepareMessage(
  message: ChatMessage,
  form: HistoryForm,
  ids: CallIds | undefined,
): ChatMessage | undefined {
  if (message.role === 'assistant') return prepareReply(message, form, ids)
  const changed: JsonObject = {}
  // A member for another API.
  if ('is_error' in message) changed.is_error = undefined
  if (message.role === 'developer' && !form.developerRole) changed.role = 'system'
  // OpenAI refuses an empty list, but no empty text.
  if (message.role === 'tool' && Array.isArray(message.content) && message.content.length === 0)
    changed.content = ''
  if (ids !== undefined && message.role === 'tool')
    changed.tool_call_id = ids.ofResult(textOf(message.tool_call_id) ?? '')
  return withChanges(message, changed)
}

/** Returns undefined for a reply with nothing left, which strict providers refuse. */
function prepareReply(
  message: ChatMessage,
  form: HistoryForm,
  ids: CallIds | undefined,
): ChatMessage | undefined {
  const changed: JsonObject = {}
  changeReasoning(message, form, changed)
  if (!form.extras && 'images' in message) changed.images = undefined
  const calls = callsOf(message)
  if (calls.length > 0) changeCalls(calls, form, ids, changed)
  else if (!isObject(message.function_call) && !isObject(message.audio)) changeContent(message, changed)
  const sent = withChanges(message, changed)
  return isEmpty(sent) ? undefined : sent
}

function changeReasoning(message: ChatMessage, form: HistoryForm, changed: JsonObject): void {
  const { ownField, reasoning } = form
  if (reasoning === 'sent') {
    renameReasoning(message, ownField, changed)
    return
  }
  for (const field of REASONING_FIELDS) if (field in message) changed[field] = undefined
  if (hasThinkingParts(message)) changed.content = withoutThinking(message.content as readonly unknown[])
  if (reasoning !== 'omitted') changed[reasoning] = textOfReasoning(message) ?? NO_REASONING
}

/** Sends reasoning text in one field. Two fields with different values are unchanged. */
function renameReasoning(
  message: ChatMessage,
  ownField: ReasoningField | undefined,
  changed: JsonObject,
): void {
  const given = (['reasoning', 'reasoning_content'] as const).filter((name) => isText(message[name]))
  if (given.length === 0 || (given.length === 2 && message.reasoning !== message.reasoning_content)) return
  const sent = ownField ?? firstOf(message, given)
  for (const name of given) if (name !== sent) changed[name] = undefined
  if (!isText(message[sent])) changed[sent] = message[given[0]!]
}

function firstOf(message: ChatMessage, names: readonly ReasoningField[]): ReasoningField {
  return Object.keys(message).find((name) => names.includes(name as ReasoningField)) as ReasoningField
}

function textOfReasoning(message: ChatMessage): string | undefined {
  const {
    reasoning,
    reasoning_content: content,
    reasoning_details: details,
    thinking_blocks: blocks,
  } = message
  return (
    textOf(content) ??
    textOf(reasoning) ??
    textOf(textIn(details, ['text', 'summary'])) ??
    textOf(textIn(blocks, ['thinking']))
  )
}

function textIn(items: unknown, names: readonly string[]): string {
  if (!Array.isArray(items)) return ''
  const texts = items.filter(isObject).flatMap((item) => names.map((name) => textOf(item[name]) ?? ''))
  return texts.join('')
}

/** Most providers require content of a reply without calls, if only the empty string, and many know no `refusal`. */
function changeContent(message: ChatMessage, changed: JsonObject): void {
  const { content, refusal } = message
  if ((content ?? '') !== '') return
  if ((content ?? undefined) === undefined || isText(refusal)) changed.content = textOf(refusal) ?? ''
  if ('refusal' in message) changed.refusal = undefined
}

function changeCalls(
  calls: readonly JsonObject[],
  form: HistoryForm,
  ids: CallIds | undefined,
  changed: JsonObject,
): void {
  if (form.extras && ids === undefined && !form.signsCalls) return
  const prepared = calls.map((call) => {
    const sent = Object.assign({}, call)
    if (ids !== undefined) sent.id = ids.ofCall(textOf(call.id) ?? '')
    if (!form.extras) for (const field of CALL_EXTRAS) delete sent[field]
    return sent
  })
  const [first] = prepared
  // Google signs only the first of several parallel calls.
  if (form.signsCalls && first !== undefined && !calls.some(isSigned)) {
    first.extra_content = { google: { thought_signature: UNSIGNED } }
  }
  changed.tool_calls = prepared
}

function isSigned({ extra_content: extra }: JsonObject): boolean {
  return isObject(extra) && isObject(extra.google) && isText(extra.google.thought_signature)
}

const THINKING = new Set<unknown>(['thinking', 'redacted_thinking'])
const isThinking = (part: unknown) => isObject(part) && THINKING.has(part.type)

function hasThinkingParts({ content }: ChatMessage): boolean {
  return Array.isArray(content) && content.some(isThinking)
}

function withoutThinking(parts: readonly unknown[]): unknown {
  const rest = parts.filter((part) => !isThinking(part))
  return rest.length === 0 ? '' : rest
}

/** Returns the message with some fields replaced. Undefined values remove a field. */
function withChanges(message: ChatMessage, changed: JsonObject): ChatMessage {
  const fields = Object.keys(changed)
  if (fields.length === 0) return message
  const sent: ChatMessage = Object.assign({}, message, changed)
  for (const field of fields) if (sent[field] === undefined) delete sent[field]
  return sent
}

/** Members that mean nothing on their own. */
const LABELS = new Set(['role', 'content', 'name', 'cache_control', 'prefix', 'partial'])

function isEmpty(message: ChatMessage): boolean {
  return message.content === '' && Object.keys(message).every((name) => LABELS.has(name))
}
