import type { ProviderError, ProviderErrorReason } from '../../errors.js'
import { cleanProviderMessage, type ProviderMessageContext } from '../../protocol/provider-message.js'
import { eventError } from '../events/event-error.js'

/** What the caller did wrong: it is told the provider's words itself, and they may quote what it wrote. */
const ABOUT_THE_REQUEST = new Set([400, 413, 422])

/** Beneath any other failure may lie one that quotes the reply, as those of `JSON.parse` do. */
const OF_THE_CONNECTION: ReadonlySet<ProviderErrorReason> = new Set(['unreachable', 'timeout', 'cut-short'])

/** Why a provider failed, in words for the host's eyes: the adapter's, the provider's own, and the cause beneath. */
export function whyItFailed(failure: ProviderError, context: ProviderMessageContext): string {
  const { cause, message, providerMessage, reason, status } = failure
  const isAboutRequest = reason === 'unsupported-request' || ABOUT_THE_REQUEST.has(status ?? 0)
  const said = isAboutRequest || !providerMessage ? '' : ` It said: ${providerMessage}`
  const beneath = cause instanceof Error && OF_THE_CONNECTION.has(reason) ? ` (${wordsOf(cause)})` : ''
  return cleanProviderMessage(message + said + beneath, context)
}

function wordsOf(cause: Error): string {
  const { code, message } = eventError(cause, 0)
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`
}
