import type { JsonObject } from '../../protocol/json-values.js'

/** What a client sends back with the conversation, so that the provider can check and continue its reasoning. */
export type ReasoningDetail = JsonObject

const FORMAT = 'anthropic-claude-v1'

/** A piece of reasoning, or the whole of it with its signature. */
export function textDetail(index: number, text: string, signature?: string): ReasoningDetail {
  const signed = signature === undefined ? {} : { signature }
  return { type: 'reasoning.text', text, ...signed, format: FORMAT, index }
}

/** Reasoning that only the provider can read. */
export function encryptedDetail(index: number, data: string): ReasoningDetail {
  return { type: 'reasoning.encrypted', data, format: FORMAT, index }
}

/** Whether a detail may be the API's own: in a conversation that changed models stand those of others, which it refuses. */
export function isOwnDetail({ format }: ReasoningDetail): boolean {
  return format === undefined || format === null || format === FORMAT
}

/** Reasoning under both names that clients read. */
export function reasoningFields(text: string, details: readonly ReasoningDetail[]): JsonObject {
  return {
    ...(text === '' ? {} : { reasoning: text, reasoning_content: text }),
    reasoning_details: details,
  }
}
