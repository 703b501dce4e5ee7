import type { ProviderError, ProviderErrorReason } from '../../base/errors.js'
import {
  bareUrl,
  cleanForHost,
  cleanProviderMessage,
  type ProviderMessageContext,
} from '../../protocol/provider-message.js'
import { cut } from '../../protocol/text.js'
import { eventError } from '../events/event-error.js'
import { refusesContent } from './content-refusal.js'

/** Statuses that refuse the request itself, or may do so, for example by moderation. The provider's words may quote it. */
const ABOUT_THE_REQUEST = new Set([400, 403, 413, 422, 451])
const MAX_CHARS = 500
/** A provider's code such as `unsupported_country`. It has no free text. */
const CODE = /^[\w.-]{1,64}$/

/** The cause beneath any other failure may quote the reply, as errors of `JSON.parse` do. */
const OF_THE_CONNECTION: ReadonlySet<ProviderErrorReason> = new Set([
  'unreachable',
  'timeout',
  'answer-timeout',
  'cut-short',
])

/**
 * Returns why a provider failed, in words for the host only: the adapter's message with the address, the provider's own
 * words, and the underlying cause. Clients see none of it.
 */
export function whyItFailed(failure: ProviderError, context: ProviderMessageContext): string {
  const { address, cause, message, providerMessage, reason, status } = failure
  const isAboutRequest =
    reason === 'unsupported-request' || ABOUT_THE_REQUEST.has(status ?? 0) || refusesContent(failure)
  const said = isAboutRequest ? codeOf(failure) : providerMessage ? `It said: ${providerMessage}` : ''
  const beneath = cause instanceof Error && OF_THE_CONNECTION.has(reason) ? `(${wordsOf(cause)})` : ''
  // Each part is cleaned separately, so that one with a secret is dropped whole.
  const parts = [withAddress(message, address), said, beneath].map((text) => cleanForHost(text, context))
  return cut(parts.filter((text) => text !== '').join(' '), MAX_CHARS)
}

/** Returns the provider's own code, if it is a valid one and contains no secret. */
export function codeForClient(
  { providerCode = '' }: ProviderError,
  context: ProviderMessageContext,
): string | undefined {
  return CODE.test(providerCode) && cleanProviderMessage(providerCode, context) === providerCode
    ? providerCode
    : undefined
}

/** Inserts the address at the end of the first sentence. */
function withAddress(message: string, address: string | undefined): string {
  return address === undefined ? message : message.replace(/\.(?=\s|$)/, () => ` (${bareUrl(address)}).`)
}

function codeOf({ providerCode }: ProviderError): string {
  return providerCode !== undefined && CODE.test(providerCode) ? `Its code: ${providerCode}.` : ''
}

function wordsOf(cause: Error): string {
  const { code, message } = eventError(cause, 0)
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`
}
