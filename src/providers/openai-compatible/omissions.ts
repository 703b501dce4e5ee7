import { isProviderError, ProviderError } from '../../base/errors.js'
import type { ProviderCall } from '../../contracts/providers.js'

/** The parts of its requests that the adapter omits. */
export interface Omissions {
  /** The request for the usage of a stream. */
  readonly usage: boolean
  /** The reasoning of earlier replies, which clients send back in the fields that the router added. */
  readonly reasoning: boolean
}

export const NOTHING_OMITTED: Omissions = { usage: false, reasoning: false }

export const REASONING_FIELDS = ['reasoning', 'reasoning_content', 'reasoning_details'] as const

const LONGEST_WORDS = 4_096
const SAYS_USAGE = /stream_options/
/** Matches a path in the request, or Groq's words, but no complaint about missing reasoning. Bounded, so linear. */
const SAYS_REASONING = /\bmessages?[.[]\S{0,40}reasoning|'reasoning\w{0,20}' is unsupported/

/**
 * Whether a provider may have rejected a call because of the reasoning in its messages.
 *
 * The text can be the caller's, since providers quote requests. So it decides about the caller's own call alone,
 * which loses only reasoning that the caller could have omitted. It is not remembered for other calls.
 */
export function refusesReasoning(failure: unknown, { request }: ProviderCall): boolean {
  return (
    SAYS_REASONING.test(refusalOf(failure)) &&
    request.messages.some((message) => REASONING_FIELDS.some((field) => field in message))
  )
}

/**
 * Returns the failure, with a hint for the host if the provider may not accept `stream_options`. The call is not sent
 * again without them: it might report no usage, and a caller can make a provider quote these words.
 */
export function hintAtUsage(failure: unknown): unknown {
  if (!isProviderError(failure) || !SAYS_USAGE.test(refusalOf(failure))) return failure
  const { cause, param, providerCode, providerMessage, reason, retryAfterSeconds, status } = failure
  const hint = 'It names stream_options. If this provider does not accept them, set streamUsage: false.'
  return new ProviderError(reason, `${failure.message} ${hint}`, {
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
