import { createHash } from 'node:crypto'
import { shortenedTo } from '../../conversation/call-ids.js'

/** Returns an id of a call that an API takes: the same one for the same id. */
export type FittingId = (id: string) => string

/** OpenAI's chats, DeepSeek and Groq take no longer ids of calls. */
const MOST_CHAT_CHARS = 40
/** The limit of the Responses API. */
const MOST_RESPONSES_CHARS = 64
const SHORT_ID = /^[a-z0-9]{9}$/i

/** Returns an id as it is: the server of another model may know its calls by other characters. */
export function sameId(id: string): string {
  return id
}

export function idForChats(id: string): string {
  return shortenedTo(MOST_CHAT_CHARS, id)
}

export function idForResponses(id: string): string {
  return shortenedTo(MOST_RESPONSES_CHARS, id)
}

/** Returns an id of nine letters and digits, the only ones that Mistral accepts. */
export function idForMistral(id: string): string {
  return SHORT_ID.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9)
}
