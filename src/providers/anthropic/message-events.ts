import { isObject, type JsonObject } from '../../protocol/json-values.js'

/**
 * Reads an event about the message itself, keeping only its id, its usage and its end, which count whatever else is in
 * the event. Returns undefined for any other event.
 */
export function ofMessage({ delta, message, type, usage }: JsonObject): JsonObject | undefined {
  if (type === 'message_start' && isObject(message)) {
    return { type, message: { id: message.id, usage: countsIn(message.usage) } }
  }
  if (type === 'message_delta' && isObject(delta)) {
    const { stop_reason, stop_sequence } = delta
    return { type, delta: { stop_reason, stop_sequence }, usage: countsIn(usage) }
  }
  return undefined
}

/** Returns the numbers of a usage and of its details. */
function countsIn(usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined
  const counts: JsonObject = {}
  for (const [name, value] of Object.entries(usage)) {
    if (typeof value === 'number') counts[name] = value
    else if (name === 'output_tokens_details' && isObject(value)) {
      counts[name] = { thinking_tokens: value.thinking_tokens }
    }
  }
  return counts
}
