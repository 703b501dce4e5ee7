import { mapFinishReason } from '../../../protocol/finish-reason.js'
import { isText, type JsonObject } from '../../../protocol/json-values.js'

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

/**
 * Returns the text at which a model stopped, as vLLM and SGLang name it in the choice of a chat. Undefined if the client
 * did not ask to stop there.
 */
export function matchedStop(
  { matched_stop: matched, stop_reason: reason }: JsonObject,
  sequences: ReadonlySet<unknown>,
): string | undefined {
  return [reason, matched].filter(isText).find((text) => sequences.has(text))
}

/** Returns the end of a message for the last choice of a chat. */
export function stopOf(choice: JsonObject, sequence: string | undefined): Stop {
  const { finish_reason: finish, native_finish_reason: native } = choice
  if (finish === 'stop' && sequence !== undefined) return { reason: 'stop_sequence', sequence }
  return { reason: stopReason(finish, native), sequence: null }
}

/** Returns the stop reason for a chat's finish reason and the provider's own word for it. */
export function stopReason(finish: unknown, native: unknown): string {
  if (typeof native === 'string' && OWN.has(native) && mapFinishReason(native) === finish) return native
  return REASONS[String(finish)] ?? 'end_turn'
}
