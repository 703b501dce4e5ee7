import { CLAUDE_FORMAT } from '../../conversation/thoughts.js'
import type { JsonObject } from '../../protocol/json-values.js'

/**
 * A part of a reply that a client sends back with the conversation, so that the provider can verify and continue its
 * reasoning.
 */
export type ReasoningDetail = JsonObject

/** Returns a piece of reasoning, or all of it with its signature. */
export function textDetail(index: number, text: string, signature?: string): ReasoningDetail {
  const signed = signature === undefined ? {} : { signature }
  return { type: 'reasoning.text', text, ...signed, format: CLAUDE_FORMAT, index }
}

/** Returns reasoning that only the provider can read. */
export function encryptedDetail(index: number, data: string): ReasoningDetail {
  return { type: 'reasoning.encrypted', data, format: CLAUDE_FORMAT, index }
}

/** Returns reasoning under both field names that clients read. */
export function reasoningFields(text: string, details: readonly ReasoningDetail[]): JsonObject {
  return {
    ...(text !== '' && { reasoning: text, reasoning_content: text }),
    reasoning_details: details,
  }
}
