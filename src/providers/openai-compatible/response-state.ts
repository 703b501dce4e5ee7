import { afterSpace, membersAt } from '../../protocol/json-text.js'
import type { JsonObject } from '../../protocol/json-values.js'

/** The types of events that contain the whole response. */
const STATES = new Set<unknown>(
  ['queued', 'created', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'].map(
    (state) => `response.${state}`,
  ),
)
const NAMES_STATE =
  /"type"\s*:\s*"response\.(?:queued|created|in_progress|completed|incomplete|failed|cancelled)"/
/** The members that describe the reply. All others repeat the request. */
const OF_REPLY = new Set(['id', 'status', 'error', 'incomplete_details', 'output', 'usage'])

/** The maximum number of events in a stream that repeat the request. */
export const REPEATS = 4
/** The maximum number of bytes in which a provider repeats a character of the request: `\u003c`. */
export const BYTES_A_CHARACTER = 6

/**
 * Reads an event that contains the whole response, without the parts that repeat the request, which may be as large and
 * as deep as the request itself. Returns undefined for any other event, and for text that is not JSON.
 */
export function readStateEvent(text: string): JsonObject | undefined {
  if (!NAMES_STATE.test(text)) return undefined
  const event: JsonObject = {}
  try {
    for (const { from, name, to } of membersAt(text, afterSpace(text, 0))) {
      if (name === 'type') event.type = JSON.parse(text.slice(from, to))
      else if (name === 'response') event.response = readResponse(text, from)
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  return STATES.has(event.type) ? event : undefined
}

function readResponse(text: string, at: number): JsonObject {
  const response: JsonObject = {}
  for (const { from, name, to } of membersAt(text, at)) {
    if (OF_REPLY.has(name)) response[name] = JSON.parse(text.slice(from, to))
  }
  return response
}
