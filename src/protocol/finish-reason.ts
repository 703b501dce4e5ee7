/** The reasons a client understands. On any other, some clients call the model again, and pay again. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

const KNOWN = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['function_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['tool-calls', 'tool_calls'],
  ['max_tokens', 'length'],
  ['MAX_TOKENS', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['content-filter', 'content_filter'],
  ['safety', 'content_filter'],
  ['SAFETY', 'content_filter'],
  ['refusal', 'content_filter'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['eos', 'stop'],
  ['STOP', 'stop'],
])

/** Maps a provider's own word; an unknown one becomes `stop`. */
export function mapFinishReason(native: string): FinishReason {
  return KNOWN.get(native) ?? 'stop'
}
