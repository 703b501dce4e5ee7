import { refuseMisspelt } from '../../contracts/option-checks.js'
import type { ProviderAdapter, ProviderCall } from '../../contracts/providers.js'
import { usesFastPaths } from '../../fast-paths.js'
import { abortSourceOf } from '../abort-source.js'
import { createReplyReader, type ReplyFormat } from '../reply-reader.js'
import { warnOfUnsetKey } from '../unset-key.js'
import { createUpstream, type UpstreamSettings } from '../upstream.js'
import type { HeaderList, UpstreamCall } from '../upstream-call.js'
import { NOTHING_OMITTED, type Omissions, omitBoth, omitMore } from './omissions.js'
import { readBody, readEvent } from './reply.js'
import { buildRequestBody } from './request.js'

export interface OpenAiCompatibleSettings extends UpstreamSettings {
  /** The host's own key, sent as a bearer token. A route's `secret` wins over it; a caller's own key replaces it. */
  readonly apiKey?: string
  /** `output` for a provider whose total counts output that it lists nowhere else (Gemini's thoughts). */
  readonly unlistedTokens?: 'output'
  /**
   * The field for the bound on output that `neverOverdraw` adds, where neither route nor model has
   * `supportedParameters` that name one. `max_tokens` by default, which most servers know; OpenAI's reasoning models
   * refuse it and want `max_completion_tokens`.
   */
  readonly outputBound?: 'max_tokens' | 'max_completion_tokens'
}

const ENDPOINT = '/chat/completions'
const SETTINGS = ['baseUrl', 'apiKey', 'headers', 'unlistedTokens', 'outputBound']

/**
 * Speaks to any provider with OpenAI's `POST {baseUrl}/chat/completions`.
 *
 * Throws a `TypeError` where a setting is wrong; no error ever shows the key. `headers` go out with every call, also
 * with one on a caller's own key, so a credential belongs in `apiKey`. Connections are kept and used again; the time
 * that connecting may take is that of the first call's limits.
 */
export function openaiCompatible(settings: OpenAiCompatibleSettings): ProviderAdapter {
  refuseMisspelt(settings, SETTINGS, 'openaiCompatible')
  const { apiKey, outputBound = 'max_tokens', unlistedTokens } = settings
  if (apiKey !== undefined && (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))) {
    throw new TypeError(
      'apiKey must be a string of visible ASCII characters. Leave it out for a provider that asks for none.',
    )
  }
  if (unlistedTokens !== undefined && unlistedTokens !== 'output') {
    throw new TypeError("unlistedTokens must be 'output' or left out.")
  }
  if (outputBound !== 'max_tokens' && outputBound !== 'max_completion_tokens') {
    throw new TypeError("outputBound must be 'max_tokens' or 'max_completion_tokens', or left out.")
  }
  const upstream = createUpstream(settings, ENDPOINT)
  warnOfUnsetKey(settings, 'openaiCompatible')
  const ownCredential = apiKey === undefined ? [] : credential(apiKey)

  const format: ReplyFormat = {
    fastPaths: usesFastPaths,
    onEvent: (data, type, events) => readEvent(data, type, events, unlistedTokens),
    onBody: (json, events) => readBody(json, events, { fastPaths: usesFastPaths, unlistedTokens }),
  }

  const credentialOf = ({ auth }: ProviderCall): HeaderList => {
    if (auth.kind === 'byok') return credential(auth.secret.reveal())
    return auth.secret ? credential(auth.secret.reveal()) : ownCredential
  }

  /** By model. */
  const omissions = new Map<string, Omissions>()

  const prepare = (call: ProviderCall, take: UpstreamCall['take'], omitted: Omissions): UpstreamCall => ({
    headers: credentialOf(call),
    body: buildRequestBody(call.request, call.stream, omitted),
    stream: call.stream,
    limits: call.limits,
    abort: abortSourceOf(call),
    trace: call.trace,
    reader: createReplyReader(call.limits.eventBytes, format),
    take,
    instead: (failure) => prepareAgain(call, take, omitted, failure),
  })

  /** Asks a provider again without what it refused: which ones do, nothing tells before. */
  const prepareAgain = (
    call: ProviderCall,
    take: UpstreamCall['take'],
    omitted: Omissions,
    failure: unknown,
  ): UpstreamCall | undefined => {
    const more = omitMore(failure, call, omitted)
    if (more === undefined) return undefined
    const { model } = call.request
    const takeAndRemember: UpstreamCall['take'] = (events) => {
      // Not before it answers: the same words may have been about something else.
      omissions.set(model, omitBoth(more, omissions.get(model)))
      return take(events)
    }
    return prepare(call, takeAndRemember, more)
  }

  return {
    chat: (call, take) =>
      upstream.post(() => prepare(call, take, omissions.get(call.request.model) ?? NOTHING_OMITTED)),
    outputBound,
    close: () => upstream.close(),
  }
}

function credential(key: string): HeaderList {
  return ['authorization', `Bearer ${key}`]
}
