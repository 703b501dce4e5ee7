import type { JsonObject } from './json-values.js'

/** The reasons that clients understand. For any other, some clients call the model again, and pay again. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** In lower case. */
const KNOWN = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['function_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['tool-calls', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['content-filter', 'content_filter'],
  ['safety', 'content_filter'],
  ['recitation', 'content_filter'],
  ['blocklist', 'content_filter'],
  ['prohibited_content', 'content_filter'],
  ['spii', 'content_filter'],
  ['image_safety', 'content_filter'],
  ['refusal', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['eos', 'stop'],
])

/** The reasons of a provider that stopped the reply because of its own failure. */
const FAILURES = new Set(['error', 'insufficient_system_resource', 'abort', 'network_error'])
/**
 * The reasons of a provider that dropped output of the model because it could not read it, mostly a tool call. The
 * provider bills for that output and a caller can provoke it, so this is a finish and not a failure. Gemini uses them,
 * also as `function_call_filter: MALFORMED_FUNCTION_CALL`, and so does Bedrock.
 */
const DROPPED =
  /^(?:function_call_filter: *)?(?:malformed_(?:function_call|tool_use|tool_call|model_output|response)|unexpected_tool_call|too_many_tool_calls|missing_thought_signature)$/

/** Returns the provider's own finish reason, or undefined if there is none. Some providers write the word null. */
export function readFinishReason(native: unknown): string | undefined {
  return typeof native === 'string' && native !== '' && native.toLowerCase() !== 'null' ? native : undefined
}

/** Whether a provider's own finish reason is in the table exactly as it is written. */
export function isKnownReason(native: string): boolean {
  return KNOWN.has(native)
}

/** Maps a provider's own finish reason. An unknown one becomes `stop`. */
export function mapFinishReason(native: string): FinishReason {
  const word = native.toLowerCase()
  // Gemini also names the filter, as in `content_filter: PROHIBITED_CONTENT`.
  return KNOWN.get(word) ?? (word.startsWith('content_filter:') ? 'content_filter' : 'stop')
}

/**
 * Corrects a mapped reason to match the tool calls of a choice: clients look for calls if, and only if, the reason is
 * `tool_calls`. `hadCalls` is true if any calls arrived, readable or not.
 */
export function finishReasonFor(mapped: FinishReason, hasCalls: boolean, hadCalls: boolean): FinishReason {
  if (mapped === 'stop' && hasCalls) return 'tool_calls'
  return mapped === 'tool_calls' && hadCalls && !hasCalls ? 'stop' : mapped
}

/** Whether a finish reason reports a failure, so that the reply is incomplete. */
export function isFailureReason(native: unknown): boolean {
  return typeof native === 'string' && FAILURES.has(native.toLowerCase())
}

/** Whether a finish reason reports that the provider dropped output that it could not read. */
export function isDroppedOutput(native: unknown): native is string {
  return typeof native === 'string' && DROPPED.test(native.toLowerCase())
}

/**
 * Returns the finish reason of a choice in the provider's own word. For dropped output, OpenRouter and packages of the AI
 * SDK report an error, with the provider's word in a second field.
 */
export function ownFinishReason({
  finish_reason: reason,
  native_finish_reason: native,
}: JsonObject): unknown {
  return isFailureReason(reason) && isDroppedOutput(native) ? native : reason
}
