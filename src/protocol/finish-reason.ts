import { isText, type JsonObject } from './json-values.js'

/** The reasons that clients understand. For any other, some clients call the model again, and pay again. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** As {@link normalised} writes them. */
const KNOWN = new Map<string, FinishReason>(
  Object.entries({
    stop: 'stop stopped stop_sequence stop_token end end_turn end_of_turn eos eos_token complete completed finish finished done success succeeded',
    length:
      'length length_limit max_length max_tokens max_output_tokens max_new_tokens max_completion_tokens max_output model_length model_context_window_exceeded context_length context_length_exceeded token_limit error_limit incomplete',
    tool_calls: 'tool_calls tool_call function_call function_calls tool_use',
    content_filter:
      'content_filter content_filtered safety recitation language blocklist prohibited_content spii image_safety image_prohibited_content image_recitation model_armor refusal sensitive guardrail_intervened moderation content_policy content_policy_violation error_toxic',
  }).flatMap(([reason, words]) => words.split(' ').map((word) => [word, reason as FinishReason] as const)),
)

/**
 * Reasons with which a provider reports its own failure. `other` is not one: packages of the AI SDK use it for each
 * unknown word, and Gemini for ends that it bills.
 */
const FAILURES =
  /(?:^|_)(?:errors?|errored|fail|failed|failure|abort|aborted|cancel|canceled|cancelled|timeout|timed_out|deadline_exceeded|exception|interrupted|disconnect|disconnected|overloaded|unavailable|rate_limit|rate_limited|crash|crashed|insufficient_system_resources?)(?:_|$)/
/**
 * Reasons with which a provider reports that it dropped unreadable output of the model, mostly a tool call. The
 * provider bills for that output and a caller can provoke it, so this is a finish and not a failure. Gemini uses them,
 * also as `function_call_filter: MALFORMED_FUNCTION_CALL`, and so does Bedrock.
 */
const DROPPED =
  /^(?:function_call_filter_)?(?:malformed_(?:function_call|tool_use|tool_call|model_output|response)|unexpected_tool_call|too_many_tool_calls|missing_thought_signature)$/
/** Words for a reply that is not finished. */
const NOT_YET = new Set([
  '',
  'null',
  'none',
  'nil',
  'undefined',
  'unspecified',
  'in_progress',
  'unfinished',
  'continue',
])

const LONGEST_REASON = 256

/** A reason that was sent several times. Gateways that join the pieces of a stream also join its reasons: `stopstop`. */
const REPEATED = /^(.+?)(?:_?\1)+$/

/**
 * Returns a reason in lower case, its words joined by `_`, without the name of its enumeration:
 * `FINISH_REASON_MAX_TOKENS` and `FinishReason.maxTokens` both become `max_tokens`.
 */
function normalised(native: string): string {
  return native
    .slice(0, LONGEST_REASON)
    .replace(/[a-z](?=[A-Z])/g, '$&_')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/^_|_$/g, '')
    .replace(REPEATED, '$1')
    .replace(/^(?:finish|stop)_?reason_(?=.)/, '')
}

/** Returns the provider's own finish reason. Undefined if there is none yet. Some providers send a word for none. */
export function readFinishReason(native: unknown): string | undefined {
  return isText(native) && (KNOWN.has(native) || !NOT_YET.has(normalised(native))) ? native : undefined
}

/** Whether a finish reason has no meaning that the router knows. */
export function isUnknownReason(native: string): boolean {
  return knownReason(native) === undefined && !isFailureReason(native) && !isDroppedOutput(native)
}

/** Maps a provider's own finish reason. An unknown one becomes `stop`. */
export function mapFinishReason(native: string): FinishReason {
  return knownReason(native) ?? 'stop'
}

function knownReason(native: string): FinishReason | undefined {
  // Most replies have a word that needs no conversion.
  const exact = KNOWN.get(native)
  if (exact !== undefined) return exact
  const word = normalised(native)
  // Gemini also names the filter, as in `content_filter: PROHIBITED_CONTENT`.
  return KNOWN.get(word) ?? (word.startsWith('content_filter_') ? 'content_filter' : undefined)
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
  return isText(native) && knownReason(native) === undefined && FAILURES.test(normalised(native))
}

/** Whether a finish reason reports that the provider dropped output that it could not read. */
export function isDroppedOutput(native: unknown): native is string {
  return isText(native) && !KNOWN.has(native) && DROPPED.test(normalised(native))
}

/**
 * Returns the finish reason that decides for a choice, in the provider's own word. OpenRouter and packages of the AI
 * SDK have their own word for it, and put the provider's in a second field, which says more: `error` can be dropped
 * output, an unknown word such as `other` anything, and a `stop` can be no stop. Some providers name the field as
 * Gemini does.
 */
export function ownFinishReason(choice: JsonObject): unknown {
  const reason = choice.finish_reason ?? choice.finishReason
  const { native_finish_reason: native } = choice
  if (!isText(reason) || !isText(native)) return reason
  if (isFailureReason(reason)) return isDroppedOutput(native) ? native : reason
  if (isDroppedOutput(reason)) return reason
  if (isUnknownReason(reason)) return native
  const saysMore = isFailureReason(native) || isDroppedOutput(native) || mapFinishReason(native) !== 'stop'
  return mapFinishReason(reason) === 'stop' && saysMore ? native : reason
}

/**
 * Returns the word to show as the provider's own: the second field if there is one, or else the deciding reason. A word
 * for dropped output is never hidden by another.
 */
export function shownFinishReason({ native_finish_reason: native }: JsonObject, reason: string): string {
  return isDroppedOutput(reason) ? reason : (readFinishReason(native) ?? reason)
}
