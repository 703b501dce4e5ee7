import { randomUUID } from 'node:crypto'
import type { ChatMessage, ChatRequest } from '../../protocol/chat-request.js'
import { writeExactly } from '../../protocol/exact-data.js'
import type { SentText } from '../../protocol/request-body.js'
import { NOTHING_OMITTED, type Omissions, REASONING_FIELDS } from './omissions.js'

/** Returns the JSON body to post. Messages keep the client's own bytes if nothing has to be removed from them. */
export function buildRequestBody(
  request: ChatRequest,
  stream: boolean,
  omitted: Omissions = NOTHING_OMITTED,
  sentText?: SentText,
): string | Buffer {
  const { messages } = request
  const prepared = messages.map((message) => prepareMessage(message, omitted))
  const isAsSent = prepared.every((message, index) => message === messages[index])
  const sent = isAsSent ? sentText?.take(messages) : undefined
  const body = Object.assign({}, request, {
    messages: sent === undefined ? prepared : undefined,
    stream: stream ? true : undefined,
    stream_options: stream && !omitted.usage ? { include_usage: true } : undefined,
  })
  const text = writeExactly(body, randomUUID)
  return sent === undefined ? text : withMessages(text, sent)
}

const NONE: readonly string[] = []

/** Adds `messages` to the JSON text of an object that is not empty. */
function withMessages(text: string, messages: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${text.slice(0, -1)},"messages":`), messages, Buffer.from('}')])
}

/** Removes members that strict providers reject: some are for another API, some the router added to a reply. */
function prepareMessage(message: ChatMessage, omitted: Omissions): ChatMessage {
  const unwanted: readonly string[] = omitted.reasoning
    ? REASONING_FIELDS.filter((field) => field in message)
    : repeatedReasoning(message)
  if (unwanted.length === 0 && !('is_error' in message)) return message
  const { is_error: _, ...sent } = message
  for (const field of unwanted) delete sent[field]
  return sent as ChatMessage
}

/**
 * Returns the field that repeats a message's reasoning. Clients get reasoning from the router under two names. The
 * first is the name of the provider it came from, which may require it and reject the other.
 */
function repeatedReasoning(message: ChatMessage): readonly string[] {
  const { reasoning } = message
  if (typeof reasoning !== 'string' || reasoning !== message.reasoning_content) return NONE
  const names = Object.keys(message)
  return [names.indexOf('reasoning') < names.indexOf('reasoning_content') ? 'reasoning_content' : 'reasoning']
}
