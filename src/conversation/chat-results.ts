import type { ChatMessage } from '../protocol/chat-request.js'
import { isObject, isText, type JsonObject, textOf } from '../protocol/json-values.js'
import { type CallsAndResults, NO_RESULT, orphanWords, settleResults } from './results.js'

export function callsOf({ tool_calls: calls }: ChatMessage): readonly JsonObject[] {
  return Array.isArray(calls) ? calls.filter(isObject) : []
}

/** Returns the parts of a message's content. A text is one part. */
export function partsOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content
  return isText(content) ? [{ type: 'text', text: content }] : []
}

/** Whether a part of a result is media, which chat providers take from users only. */
export function isMediaOfResult(part: unknown): boolean {
  return !isObject(part) || part.type !== 'text'
}

/** Returns the words that precede the media of a result, which are sent with the user's next message. */
export function attachedWords(id: unknown): string {
  return `Attached to the result of ${String(id)}:`
}

/** The calls and results in the messages of a chat. */
export const CHAT_CALLS: CallsAndResults<ChatMessage> = {
  callsOf: (message) =>
    message.role === 'assistant' ? callsOf(message).map(({ id }) => textOf(id) ?? '') : [],
  resultOf: (message) => (message.role === 'tool' ? (textOf(message.tool_call_id) ?? '') : undefined),
  missing: (id) => ({ role: 'tool', tool_call_id: id, content: NO_RESULT }),
  saidBy: ({ content }) => content,
  orphan: ({ content }, id) => ({
    role: 'user',
    content: isText(content)
      ? `${orphanWords(id)}\n${content}`
      : [{ type: 'text', text: orphanWords(id) }, ...partsOf(content)],
  }),
}

/** The reply that providers get between results and the next message, if they require one. */
export const ANSWER = 'OK'

/** Whether a message follows the result of a call without a reply between them. */
export function isUnanswered(before: ChatMessage | undefined, { role }: ChatMessage): boolean {
  return before?.role === 'tool' && role !== 'tool' && role !== 'assistant'
}

const WORDS_ALONE: CallsAndResults<ChatMessage> = {
  ...CHAT_CALLS,
  missing: (id) => ({ role: 'tool', content: JSON.stringify([id, NO_RESULT]) }),
  orphan: (_result, id) => ({ role: 'user', content: orphanWords(id) }),
}

/** The most text that an id of a call and that of its result gain if the id is empty, or occurred before. */
const LONGER_IDS = 'call_10000 call_10000'

/**
 * Returns the words that providers get beside a conversation, once its results stand behind their calls and each call has
 * an id of its own: one text a message or call.
 */
export function addedWords(messages: readonly ChatMessage[]): readonly string[] {
  const words: string[] = []
  let known: Set<string> | undefined
  for (const message of messages) {
    const { content, role, tool_call_id: id } = message
    for (const callId of CHAT_CALLS.callsOf(message)) {
      known ??= new Set()
      if (callId === '' || known.has(callId)) words.push(LONGER_IDS)
      else known.add(callId)
    }
    if (role === 'tool' && Array.isArray(content) && content.some(isMediaOfResult))
      words.push(attachedWords(id), ANSWER)
  }
  const settled = settleResults(messages, WORDS_ALONE)
  for (let position = 1; position < settled.length; position++)
    if (isUnanswered(settled[position - 1], settled[position]!)) words.push(ANSWER)
  if (settled === messages) return words
  const given = new Set(messages)
  for (const message of settled) if (!given.has(message)) words.push(String(message.content))
  return words
}
