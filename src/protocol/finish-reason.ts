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
/** Gemini drops a tool call that it cannot read, as in `function_call_filter: MALFORMED_FUNCTION_CALL`. */
const FAILURE_START = 'function_call_filter:'

/** The provider's own word for how a choice ended, `undefined` where it gave none yet. Some write the word null. */
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

/** Whether a finish reason is no finish but a failure, and what came before it is not whole. */
export function isFailureReason(native: unknown): boolean {
  if (typeof native !== 'string') return false
  const word = native.toLowerCase()
  return FAILURES.has(word) || word.startsWith(FAILURE_START)
}
