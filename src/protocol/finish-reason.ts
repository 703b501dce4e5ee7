import type { JsonObject } from './json-values.js'

/** The reasons a client understands. On any other, some clients call the model again, and pay again. */
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

/** With these a provider says that it broke the reply off itself. */
const FAILURES = new Set(['error', 'insufficient_system_resource', 'abort', 'network_error'])
/**
 * With these a provider says that it dropped output of the model that it could not read, mostly a tool call. It bills for
 * that, and the model can be made to do it, so it is a finish and no failure. Gemini's, also as
 * `function_call_filter: MALFORMED_FUNCTION_CALL`, and Bedrock's.
 */
const DROPPED =
  /^(?:function_call_filter: *)?(?:malformed_(?:function_call|tool_use|tool_call|model_output|response)|unexpected_tool_call|too_many_tool_calls|missing_thought_signature)$/

/** The provider's own word for how a choice ended, `undefined` if it gave none yet. Some write the word null. */
export function readFinishReason(native: unknown): string | undefined {
  return typeof native === 'string' && native !== '' && native.toLowerCase() !== 'null' ? native : undefined
}

/** Whether a provider's own word is one of those that are mapped as they stand. */
export function isKnownReason(native: string): boolean {
  return KNOWN.has(native)
}

/** Maps a provider's own word; an unknown one becomes `stop`. */
export function mapFinishReason(native: string): FinishReason {
  const word = native.toLowerCase()
  // Gemini says which filter, as in `content_filter: PROHIBITED_CONTENT`.
  return KNOWN.get(word) ?? (word.startsWith('content_filter:') ? 'content_filter' : 'stop')
}

/**
 * The mapped reason for the tool calls that a choice has: clients wait for results of calls only with `tool_calls`, and
 * look for calls with it. `hadCalls`: some came, readable or not.
 */
export function finishReasonFor(mapped: FinishReason, hasCalls: boolean, hadCalls: boolean): FinishReason {
  if (mapped === 'stop' && hasCalls) return 'tool_calls'
  return mapped === 'tool_calls' && hadCalls && !hasCalls ? 'stop' : mapped
}

/** Whether a finish reason is no finish but a failure, and what came before it is not whole. */
export function isFailureReason(native: unknown): boolean {
  return typeof native === 'string' && FAILURES.has(native.toLowerCase())
}

/** Whether a provider dropped output of the model that it could not read. */
export function isDroppedOutput(native: unknown): native is string {
  return typeof native === 'string' && DROPPED.test(native.toLowerCase())
}

/**
 * The provider's own word for how a choice ended. OpenRouter calls dropped output an error, and has the word beside it;
 * so do packages of the AI SDK.
 */
export function ownFinishReason({
  finish_reason: reason,
  native_finish_reason: native,
}: JsonObject): unknown {
  return isFailureReason(reason) && isDroppedOutput(native) ? native : reason
}
