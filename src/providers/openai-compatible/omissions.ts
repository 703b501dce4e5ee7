import { isProviderError, ProviderError } from '../../base/errors.js'
import type { ProviderCall } from '../../contracts/providers.js'

/** What the adapter leaves out of its requests. */
export interface Omissions {
  /** The request for the usage of a stream. */
  readonly usage: boolean
  /** The reasoning of earlier replies, which clients send back under the names that the router gave it. */
  readonly reasoning: boolean
}

export const NOTHING_OMITTED: Omissions = { usage: false, reasoning: false }

export const REASONING_FIELDS = ['reasoning', 'reasoning_content', 'reasoning_details'] as const

const LONGEST_WORDS = 4_096
const SAYS_USAGE = /stream_options/
/** As a path in the request, or in Groq's words. A provider that misses reasoning says neither. Bounded, so linear. */
const SAYS_REASONING = /\bmessages?[.[]\S{0,40}reasoning|'reasoning\w{0,20}' is unsupported/

/**
 * Whether a provider may have refused a call for the reasoning that its messages bring along.
 *
 * The words can be the caller's: a provider quotes what it was sent. So this decides about the caller's own call alone,
 * which loses no more than reasoning that the caller could have left out. Nothing is remembered for other calls.
 */
export function refusesReasoning(failure: unknown, { request }: ProviderCall): boolean {
  return (
    SAYS_REASONING.test(refusalOf(failure)) &&
    request.messages.some((message) => REASONING_FIELDS.some((field) => field in message))
  )
}

/**
 * The same failure, with a hint for the host if the provider may take no `stream_options`. Nothing is done about it: a
 * call without them may report no usage, and a caller can have a provider quote these words.
 */
export function hintAtUsage(failure: unknown): unknown {
  if (!isProviderError(failure) || !SAYS_USAGE.test(refusalOf(failure))) return failure
  const { cause, param, providerCode, providerMessage, reason, retryAfterSeconds, status } = failure
  const hint = 'It names stream_options. If this provider takes none, set streamUsage: false.'
  return new ProviderError(reason, `${failure.message} ${hint}`, {
    cause,
    param,
    providerCode,
    providerMessage,
    retryAfterSeconds,
    status,
  })
}

/** The field and the words that a provider refused a request with; empty for any other failure. */
function refusalOf(failure: unknown): string {
  if (!isProviderError(failure) || failure.reason !== 'status') return ''
  const { param = '', providerMessage = '', status } = failure
  if (status !== 400 && status !== 422) return ''
  return `${param.slice(0, LONGEST_WORDS)} ${providerMessage.slice(0, LONGEST_WORDS)}`
}
