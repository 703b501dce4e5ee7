import { type CompatError, isCompatError } from '../../src/base/errors.js'
import { parseChatRequest } from '../../src/operations/chat/read-request.js'
import type { JsonObject } from '../../src/protocol/json-values.js'

/** Shaped like an envelope, but nothing can open it. */
export const ENVELOPE = 'v1.eyJhbGciOiJFQ0RILUVTIn0..aXY.Y2lwaGVy.dGFn'
export const MESSAGES = [{ role: 'user', content: 'Hello' }]

export function body(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'acme/fast', messages: MESSAGES, ...fields }
}

/** The error that a request is refused with. Throws if it is accepted. */
export function refusal(value: JsonObject): CompatError {
  try {
    parseChatRequest(value)
  } catch (error) {
    if (isCompatError(error)) return error
    throw error
  }
  throw new Error('The request was accepted.')
}
