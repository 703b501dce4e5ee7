import type { ChoiceEnd } from '../../../conversation/delta.js'
import { type FinishReason, mapFinishReason } from '../../../protocol/finish-reason.js'
import type { JsonObject } from '../../../protocol/json-values.js'

/** The end of a message. */
export interface Stop {
  readonly reason: string
  readonly sequence: string | null
  /** Why a reply was refused, if the provider says so. */
  readonly details?: JsonObject | undefined
}

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}
/** Stop reasons of this API that say more than a chat's. */
const OWN = new Set(['stop_sequence', 'pause_turn', 'compaction', 'model_context_window_exceeded'])

/** Returns the end of a message. */
export function stopOf({ native, reason, stopSequence }: ChoiceEnd): Stop {
  if (reason === 'stop' && stopSequence !== undefined)
    return { reason: 'stop_sequence', sequence: stopSequence }
  return { reason: stopReason(reason, native), sequence: null }
}

/** Returns the stop reason for a finish reason and the provider's own word for it. */
export function stopReason(finish: FinishReason, native: string | undefined): string {
  if (native !== undefined && OWN.has(native) && mapFinishReason(native) === finish) return native
  return REASONS[finish]
}
