import type { Api, Json, Shape } from '../shape.js'
import { writeChat } from './chat.js'
import { writeMessages } from './messages.js'
import { writeResponses } from './responses.js'

/** Returns a request of a client of this API as JSON, or undefined if its API has no words for the conversation. */
export function writeRequest(api: Api, shape: Shape, model: string, stream: boolean): Json | undefined {
  if (shape.apis !== undefined && !shape.apis.includes(api)) return undefined
  const write = { chat: writeChat, responses: writeResponses, messages: writeMessages }[api]
  const body = write(shape, model, stream)
  return body === undefined ? undefined : { ...body, ...shape.members?.[api] }
}
