import { isProviderError, ProviderError } from '../../base/errors.js'
import type { ProviderCall } from '../../contracts/providers.js'
import { callsOf } from '../../conversation/chat-results.js'
import { isObject } from '../../protocol/json-values.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'
import type { ResponsesRequest } from '../../protocol/responses-request.js'
import { refusesEncrypted } from '../openai-input/signed-thoughts.js'
import { mostStopsIn } from '../openai-input/stops.js'
import { fieldsIn, refusalOf, saysUnknown } from '../unknown-fields.js'
import {
  type HistoryForm,
  hasExtras,
  hasLateSystem,
  hasOtherParts,
  hasReasoning,
  mediaIn,
} from './history.js'
import { type FieldForm, hasMoreStops } from './limits.js'

const SAYS_USAGE = /stream_options/
/**
 * Matches a path in the request, or Groq's or OpenAI's phrases, but no complaint about missing reasoning. Bounded, so
 * linear.
 */
const SAYS_REASONING =
  /\bmessages?[.[]\S{0,40}(?:reasoning|thinking_blocks)|'(?:reasoning\w{0,20}|thinking_blocks)' is unsupported|Invalid value: 'thinking'/
const SAYS_EXTRAS =
  /\bmessages?[.[]\S{0,60}(?:images|extra_content|provider_specific_fields)|'(?:images|extra_content|provider_specific_fields)' is unsupported/
/** Phrases of DeepSeek, Moonshot and MiMo. */
const MISSES_REASONING =
  /\breasoning_content\b.{0,60}\b(?:must be passed back|is missing|is required)|\b[Mm]issing\W{0,4}reasoning_content\b/
/** Phrases of Mistral, and of OpenAI for an id of more than 40 characters. */
const SAYS_CALL_ID = /\b[Tt]ool call id\b.{0,200}\blength of 9\b|\btool_call\S{0,40}id\b.{0,40}\btoo long\b/
/** Phrases of OpenAI, DeepSeek, Alibaba, vLLM and DeepInfra for an unknown role. */
const SAYS_ROLE =
  /\bmessages?[.[]\S{0,20}\brole\b|\brole\b.{0,40}\bdeveloper\b|\bdeveloper\b.{0,40}\b(?:role|one of)\b|\b(?:unexpected|unknown|unsupported|invalid) (?:message )?role\b|\binput should be 'system'/i
/** Phrases of chat templates, such as Qwen's: "System message must be at the beginning." */
const SAYS_SYSTEM_FIRST =
  /\bsystem (?:message|role|prompt)s?\b.{0,60}\b(?:beginning|first|start)\b|\b(?:first|initial) message\b.{0,40}\bsystem\b/i
/** Mistral's phrases. */
const SAYS_ORDER = /\bUnexpected role '(?:user|system|developer)' after role 'tool'/
const SAYS_LAST_ROLE = /\bExpected last role User or Tool\b/
/** Phrases of DeepSeek, Groq, Ollama and vLLM. */
const SAYS_TEXT_ALONE =
  /\bunknown variant `?\w{1,20}`?, expected `?text\b|\bcontent'? ?:? (?:value )?must be a string|\bdoes not support image input\b|\bis not a multimodal model\b/
const MISSES_SIGNATURE = /\bmissing an? .?thought_signature\b/

/**
 * Returns the form in which to send the conversation again after a provider rejected it. Undefined if the failure is
 * final.
 *
 * The text may come from the caller, since providers quote requests. So it affects only the caller's own call, which
 * loses nothing that the caller could not have omitted. It is not remembered for other calls.
 */
export function formAfter(
  failure: unknown,
  form: HistoryForm,
  call: Pick<ProviderCall, 'request'>,
): HistoryForm | undefined {
  const words = refusalOf(failure)
  if (words === '') return undefined
  const { messages } = call.request
  const isReply = ({ role }: { role: string }) => role === 'assistant'
  if (form.reasoning !== 'reasoning_content' && MISSES_REASONING.test(words) && messages.some(isReply)) {
    return { ...form, reasoning: 'reasoning_content' }
  }
  if (form.reasoning === 'sent' && SAYS_REASONING.test(words) && messages.some(hasReasoning)) {
    return { ...form, reasoning: 'omitted' }
  }
  const hasCalls = messages.some((message) => callsOf(message).length > 0)
  if (!form.signsCalls && hasCalls && MISSES_SIGNATURE.test(words)) return { ...form, signsCalls: true }
  if (!form.shortIds && hasCalls && SAYS_CALL_ID.test(words)) return { ...form, shortIds: true }
  if (!form.answersResults && hasCalls && SAYS_ORDER.test(words)) return { ...form, answersResults: true }
  // A reply between a call and its result comes last once these stand together.
  if (!form.marksPrefix && SAYS_LAST_ROLE.test(words) && messages.some(isReply)) {
    return { ...form, marksPrefix: true }
  }
  if (!form.systemFirst && SAYS_SYSTEM_FIRST.test(words) && hasLateSystem(messages)) {
    return { ...form, systemFirst: true }
  }
  const isDeveloper = ({ role }: { role: string }) => role === 'developer'
  if (form.developerRole && SAYS_ROLE.test(words) && messages.some(isDeveloper)) {
    return { ...form, developerRole: false }
  }
  if (form.extras && SAYS_EXTRAS.test(words) && messages.some(hasExtras)) return { ...form, extras: false }
  if (!form.textAlone && SAYS_TEXT_ALONE.test(words) && messages.some(hasOtherParts)) {
    return { ...form, textAlone: true }
  }
  return undefined
}

/** Fields that only label a request, or help the provider to find what it has cached. */
const LABELS: ReadonlySet<string> = new Set([
  'user',
  'safety_identifier',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_retention',
])
const OLDER_FIELDS = ['functions', 'function_call'] as const
/** Fields that decide in which form the reply and its usage come. A caller can make a provider name them. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['stream', 'stream_options'])
const MISTRAL_UNKNOWN = /\bExtra inputs are not permitted\b/
/**
 * Returns the fields with which to send a request again after a provider rejected one that it does not know: a label, a
 * field whose value asks for the default, `seed`, which Mistral calls `random_seed`, or `reasoning`, which strict
 * providers know as `reasoning_effort`; or after it rejected the number of stop sequences. Undefined if the failure is
 * final. It affects only the caller's own call, as {@link formAfter} says.
 */
export function fieldsAfter(
  failure: unknown,
  fields: FieldForm,
  { request }: Pick<ProviderCall, 'request'>,
): FieldForm | undefined {
  const words = refusalOf(failure)
  const mostStops = mostStopsIn(words)
  if (mostStops !== undefined && mostStops < fields.mostStops && hasMoreStops(request, mostStops)) {
    return { ...fields, mostStops }
  }
  if (!saysUnknown(words)) return undefined
  const named = fieldsIn(words)
  if (!fields.randomSeed && request.seed !== undefined && MISTRAL_UNKNOWN.test(words) && named.has('seed')) {
    return { ...fields, randomSeed: true }
  }
  const { reasoning, reasoning_effort: effort = null } = request
  if (!fields.effortAlone && isObject(reasoning) && named.has('reasoning'))
    return { ...fields, effortAlone: true }
  const isMadeUp = fields.effortAlone && isObject(reasoning) && effort === null
  if (isMadeUp && !fields.omitted.includes('reasoning_effort') && named.has('reasoning_effort')) {
    return { ...fields, omitted: [...fields.omitted, 'reasoning_effort'] }
  }
  const unknown = Object.keys(request).find(
    (field) =>
      (LABELS.has(field) || (!OWN_FIELDS.has(field) && isNeutral(field, request[field]))) &&
      !fields.omitted.includes(field) &&
      named.has(field),
  )
  return unknown === undefined ? undefined : { ...fields, omitted: [...fields.omitted, unknown] }
}

/** Whether a provider rejected the older form of tools, `functions`. DeepSeek reads a call in that form as an empty reply. */
export function rejectsFunctions(failure: unknown): boolean {
  const words = refusalOf(failure)
  return (
    /\bunknown variant `function`|\bcontent or tool_calls must be set\b/.test(words) ||
    (saysUnknown(words) && OLDER_FIELDS.some((name) => fieldsIn(words).has(name)))
  )
}

/** What a request left out, by the names of its fields and of the types of its parts, as far as it changes the reply. */
export function lossesOf(
  { request }: Pick<ProviderCall, 'request'>,
  history: HistoryForm,
  fields: FieldForm,
): readonly string[] {
  const lost = history.textAlone ? [...mediaIn(request.messages)] : []
  if (hasMoreStops(request, fields.mostStops)) lost.push('stop')
  if (fields.omitted.includes('reasoning_effort')) lost.push('reasoning')
  return lost
}

/**
 * Returns a label of a request that its provider does not know, and that is not omitted yet. Undefined if there is none.
 */
export function unknownLabel(
  failure: unknown,
  request: ResponsesRequest,
  omitted: readonly string[],
): string | undefined {
  const words = refusalOf(failure)
  if (!saysUnknown(words)) return undefined
  const named = fieldsIn(words)
  return Object.keys(request).find(
    (field) => LABELS.has(field) && !omitted.includes(field) && named.has(field),
  )
}

/** Whether a provider rejected the reasoning of earlier replies. The conversation can continue without it. */
export function rejectsReasoning(
  failure: unknown,
  { request }: Pick<ProviderCall<ResponsesRequest>, 'request'>,
): boolean {
  return refusesEncrypted(refusalOf(failure)) && request.input.some(({ type }) => type === 'reasoning')
}

/**
 * Returns the failure, with a hint for the host if the provider may not accept `stream_options`. The call is not sent
 * again without them: it might report no usage, and a caller can make a provider quote these words.
 */
export function hintAtUsage(failure: unknown): unknown {
  if (!isProviderError(failure) || !SAYS_USAGE.test(refusalOf(failure))) return failure
  const { address, cause, param, providerCode, providerMessage, reason, retryAfterSeconds, status } = failure
  const hint = 'It names stream_options. If this provider does not accept them, set streamUsage: false.'
  return new ProviderError(reason, `${failure.message} ${hint}`, {
    address,
    cause,
    param,
    providerCode,
    providerMessage,
    retryAfterSeconds,
    status,
  })
}
