import { mapFinishReason } from '../../../protocol/finish-reason.js'
import type { JsonObject } from '../../../protocol/json-values.js'

/** The end of a message. */
export interface Stop {
  readonly reason: string
  readonly sequence: string | null
  /** Why a reply was refused, if the provider says so. */
  readonly details?: JsonObject | undefined
}

const REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}
/** Stop reasons of this API that say more than a chat's. */
const OWN = new Set(['stop_sequence', 'pause_turn', 'compaction', 'model_context_window_exceeded'])

/** Returns the stop reason for a chat's finish reason and the provider's own word for it. */
export function stopReason(finish: unknown, native: unknown): string {
  if (typeof native === 'string' && OWN.has(native) && mapFinishReason(native) === finish) return native
  return REASONS[String(finish)] ?? 'end_turn'
}
