import { isProviderError, ProviderError } from '../../base/errors.js'
import type { ProviderCall } from '../../contracts/providers.js'
import { callsOf } from '../../conversation/chat-results.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'
import type { ResponsesRequest } from '../../protocol/responses-request.js'
import { refusesEncrypted } from '../openai-input/thoughts.js'
import { type HistoryForm, hasExtras, hasLateSystem, hasReasoning } from './history.js'
import type { FieldForm } from './request.js'

const LONGEST_WORDS = 4_096
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
  if (!form.marksPrefix && SAYS_LAST_ROLE.test(words) && messages.at(-1)?.role === 'assistant') {
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
/** Fields that decide in which form the reply and its usage come. A caller can make a provider name them. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['stream', 'stream_options'])
/** Phrases of OpenAI, Groq, Google, Mistral and vLLM for a field that they do not know. */
const SAYS_UNKNOWN =
  /\bunsupported\b|\bunknown (?:name|parameter|field)\b|\bunrecognized\b|\bnot permitted\b|\bcannot find field\b/i
const MISTRAL_UNKNOWN = /\bExtra inputs are not permitted\b/

/**
 * Returns the fields with which to send a request again after a provider rejected one that it does not know: a label, a
 * field whose value asks for the default, or `seed`, which Mistral calls `random_seed`. Undefined if the failure is
 * final. It affects only the caller's own call, as {@link formAfter} says.
 */
export function fieldsAfter(
  failure: unknown,
  fields: FieldForm,
  { request }: Pick<ProviderCall, 'request'>,
): FieldForm | undefined {
  const words = refusalOf(failure)
  if (!SAYS_UNKNOWN.test(words)) return undefined
  const names = (field: string) => new RegExp(`(?<![\\w.])${field}(?![\\w.])`).test(words)
  if (!fields.randomSeed && request.seed !== undefined && MISTRAL_UNKNOWN.test(words) && names('seed')) {
    return { ...fields, randomSeed: true }
  }
  const unknown = Object.keys(request).find(
    (field) =>
      (LABELS.has(field) || (!OWN_FIELDS.has(field) && isNeutral(field, request[field]))) &&
      !fields.omitted.includes(field) &&
      names(field),
  )
  return unknown === undefined ? undefined : { ...fields, omitted: [...fields.omitted, unknown] }
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

/** Returns the field and the message with which a provider rejected a request; empty for any other failure. */
function refusalOf(failure: unknown): string {
  if (!isProviderError(failure) || failure.reason !== 'status') return ''
  const { param = '', providerMessage = '', status } = failure
  if (status !== 400 && status !== 422) return ''
  return `${param.slice(0, LONGEST_WORDS)} ${providerMessage.slice(0, LONGEST_WORDS)}`
}
