import type { ChoiceEnd, Members } from '../../../conversation/delta.js'
import { type FinishReason, mapFinishReason } from '../../../protocol/finish-reason.js'

/** The end of a message. */
export interface Stop {
  readonly reason: string
  readonly sequence: string | null
  /** Why a reply was refused, if the provider says so. */
  readonly details?: Members | undefined
  /** The provider's edits of the input, if the client asked for them. */
  readonly edits?: Members | undefined
}

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}
/** Stop reasons of this API that say more than a chat's. */
const OWN = new Set(['stop_sequence', 'pause_turn', 'compaction', 'model_context_window_exceeded'])

/**
 * Returns the end of a message.
 *
 * @param hasRefused whether the model said that it will not answer, which is text in this API
 */
export function stopOf({ native, reason, rest, stopSequence }: ChoiceEnd, hasRefused: boolean): Stop {
  const more = { details: rest?.stop_details, edits: rest?.context_management }
  if (reason === 'stop' && stopSequence !== undefined)
    return { reason: 'stop_sequence', sequence: stopSequence, ...more }
  const finish = reason === 'stop' && hasRefused ? 'content_filter' : reason
  return { reason: stopReason(finish, native), sequence: null, ...more }
}

/** Returns the stop reason for a finish reason and the provider's own word for it. */
function stopReason(finish: FinishReason, native: string | undefined): string {
  if (native !== undefined && OWN.has(native) && mapFinishReason(native) === finish) return native
  return REASONS[finish]
}
