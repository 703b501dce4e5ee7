import type { JsonObject } from '../../protocol/json-values.js'

/**
 * A part of a reply that a client sends back with the conversation, so that the provider can verify and continue its
 * reasoning.
 */
export type ReasoningDetail = JsonObject

const FORMAT = 'anthropic-claude-v1'

/** Returns a piece of reasoning, or all of it with its signature. */
export function textDetail(index: number, text: string, signature?: string): ReasoningDetail {
  const signed = signature === undefined ? {} : { signature }
  return { type: 'reasoning.text', text, ...signed, format: FORMAT, index }
}

/** Returns reasoning that only the provider can read. */
export function encryptedDetail(index: number, data: string): ReasoningDetail {
  return { type: 'reasoning.encrypted', data, format: FORMAT, index }
}

/**
 * Whether a detail may come from this API. A conversation that changed models contains details of others, which the
 * API rejects.
 */
export function isOwnDetail({ format }: ReasoningDetail): boolean {
  return format === undefined || format === null || format === FORMAT
}

/** Returns reasoning under both field names that clients read. */
export function reasoningFields(text: string, details: readonly ReasoningDetail[]): JsonObject {
  return {
    ...(text === '' ? {} : { reasoning: text, reasoning_content: text }),
    reasoning_details: details,
  }
}
