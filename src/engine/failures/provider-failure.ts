import {
  CompatError,
  type CompatErrorFields,
  type ErrorCode,
  type ProviderError,
  type ProviderErrorReason,
} from '../../base/errors.js'
import { cleanProviderMessage, type ProviderMessageContext } from '../../protocol/provider-message.js'
import { refusesContent } from './content-refusal.js'
import { codeForClient, whyItFailed } from './why-it-failed.js'

/** What a provider's failure means for the client, the next route and this route's health. */
export interface ProviderFailure {
  readonly error: CompatError
  /** Whether another route may be tried. Never under a caller's own key. */
  readonly movesOn: boolean
  /** Whether the route, rather than the request or the key, is at fault. */
  readonly routeAtFault: boolean
  /** Whether the provider did not accept the call at all. Other failures may depend on the request. */
  readonly isOutage: boolean
  readonly retryAfterSeconds: number | undefined
  /** The reason in words, for the host. */
  readonly why: string
}

/** The host has no credit left at the provider. */
const NO_CREDIT = 402

type Reading = Omit<ProviderFailure, 'why'>

const OUTAGES: ReadonlySet<ProviderErrorReason> = new Set(['unreachable', 'timeout', 'status'])

/** Phrases of OpenAI, Anthropic, Google, xAI and llama.cpp. */
const CONTEXT_LENGTH =
  /context (?:length|window|limit|size)|maximum (?:context|prompt length)|input token count|too many tokens|prompt is too long/i

/**
 * Interprets a failure. The client sees the provider's own words, cleaned, only if the request itself was refused.
 *
 * @param nativeFinishReason the finish reason with which the reply failed
 */
export function providerFailure(
  failure: ProviderError,
  byok: boolean,
  context: ProviderMessageContext,
  nativeFinishReason?: string,
): ProviderFailure {
  const reading = readFailure(failure, byok, context, nativeFinishReason)
  return { ...reading, why: whyItFailed(failure, context) }
}

function readFailure(
  failure: ProviderError,
  byok: boolean,
  context: ProviderMessageContext,
  nativeFinishReason: string | undefined,
): Reading {
  const { retryAfterSeconds, status } = failure
  const ended =
    nativeFinishReason === undefined ? {} : { metadata: { native_finish_reason: nativeFinishReason } }
  const fails = (
    code: ErrorCode,
    message: string,
    routeAtFault: boolean,
    fields: CompatErrorFields = {},
  ): Reading => ({
    error: new CompatError(code, message, { source: 'provider', ...ended, ...fields, cause: failure }),
    movesOn: !byok,
    routeAtFault,
    isOutage: routeAtFault && OUTAGES.has(failure.reason) && status !== 429,
    retryAfterSeconds,
  })
  const refused = (): Reading => ({ ...refusedRequest(failure, context), retryAfterSeconds })
  const retryAfter =
    retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': String(retryAfterSeconds) } }
  /** The provider may have done and billed the work without an answer, or waiting does not help. */
  const noRetry = { headers: { 'x-should-retry': 'false' } }

  switch (failure.reason) {
    case 'unsupported-request':
      return { ...unsupportedRequest(failure, context), movesOn: !byok, retryAfterSeconds }
    case 'unreachable':
      return fails('provider_error', 'The provider of this model cannot be reached.', true)
    case 'timeout':
      return fails('provider_timeout', 'The provider of this model did not answer in time.', true, noRetry)
    case 'answer-timeout':
      // The provider may still be working and may bill for it, and a second provider would bill too. The length of a
      // reply is the caller's doing, so the route is not blamed.
      return {
        ...fails('provider_timeout', 'The provider of this model did not answer in time.', false, noRetry),
        movesOn: false,
      }
    case 'invalid-response':
      return fails(
        'provider_invalid_response',
        'The provider of this model sent a reply that cannot be read.',
        true,
        noRetry,
      )
    case 'cut-short':
      return fails('provider_error', 'The provider of this model cut off its reply.', true, noRetry)
  }
  if (status === 400 || status === 413 || status === 422 || refusesContent(failure)) return refused()
  if (status === 401 || status === 403) {
    return byok
      ? fails('provider_key_rejected', 'The provider refused the key in provider_key.', false, {
          param: 'provider_key',
        })
      : fails('provider_auth_failed', 'The provider of this model refused this service.', false)
  }
  if (status === 429) {
    return fails(
      'rate_limited',
      'The provider of this model is limiting its rate. Try again shortly.',
      true,
      retryAfter,
    )
  }
  if (status === 503 || status === 529) {
    return fails(
      'provider_overloaded',
      'The provider of this model is overloaded. Try again shortly.',
      true,
      retryAfter,
    )
  }
  if (status === 408)
    return fails('provider_timeout', 'The provider of this model did not answer in time.', true)
  return fails(
    'provider_error',
    'The provider of this model failed.',
    status === undefined || status >= 500,
    failure.reason === 'error-frame' || status === NO_CREDIT ? noRetry : {},
  )
}

/** This provider cannot express the request, but another adapter may. */
function unsupportedRequest(
  failure: ProviderError,
  context: ProviderMessageContext,
): Pick<Reading, 'error' | 'routeAtFault' | 'isOutage'> {
  const { param } = failure
  const said = cleanProviderMessage(failure.providerMessage ?? failure.message, context)
  const message = said === '' ? "This provider's API cannot express the request." : said
  const code =
    param === undefined || param.startsWith('messages') ? 'invalid_request' : 'unsupported_parameter'
  return {
    error: new CompatError(code, message, { cause: failure, ...(param !== undefined && { param }) }),
    routeAtFault: false,
    isOutage: false,
  }
}

function refusedRequest(
  failure: ProviderError,
  context: ProviderMessageContext,
): Omit<Reading, 'retryAfterSeconds'> {
  const said = cleanProviderMessage(failure.providerMessage ?? '', context)
  const tooLong = failure.providerCode === 'context_length_exceeded' || CONTEXT_LENGTH.test(said)
  const message = said === '' ? 'The provider of this model refused the request.' : said
  const param = cleanProviderMessage(failure.param ?? '', context)
  const providerCode = codeForClient(failure, context)
  return {
    error: new CompatError(tooLong ? 'context_length_exceeded' : 'provider_rejected_request', message, {
      source: 'provider',
      cause: failure,
      ...(param !== '' && { param }),
      ...(providerCode !== undefined && { metadata: { provider_code: providerCode } }),
    }),
    movesOn: false,
    routeAtFault: false,
    isOutage: false,
  }
}
