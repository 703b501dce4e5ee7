import { randomUUID } from 'node:crypto'
import { createSecret } from '../../base/secret.js'
import type { ChatAdapter, ProviderCall } from '../../contracts/index.js'
import { refuseUnknown } from '../../contracts/option-checks.js'
import { writeExactly } from '../../protocol/exact-data.js'
import { isSecret } from '../../protocol/secret-search.js'
import type { HostDispatcher } from '../dispatcher.js'
import { warnOfUnsetKey } from '../unset-key.js'
import { createUpstream } from '../upstream.js'
import type { HeaderList, UpstreamCall } from '../upstream-call.js'
import { createReader } from './reader.js'
import { thinkingAfter } from './refusals.js'
import { ALL_THINKING, type SentThinking, toNativeRequest } from './request.js'

const BASE_URL = 'https://api.anthropic.com/v1'
const ENDPOINT = '/messages'
const VERSION = '2023-06-01'
/**
 * Claude's tokenizers make up to a third more tokens from a text than OpenAI's do, and the latest one another third.
 */
const TOKEN_FACTOR = 1.5
const VISIBLE = /^[\x21-\x7e]+$/
const SETTINGS = ['apiKey', 'baseUrl', 'version', 'headers', 'dispatcher']
const OWN_HEADERS = new Set(['x-api-key', 'anthropic-version'])

export interface AnthropicSettings {
  /** The host's key. A route's secret takes precedence over it. A call on a caller's own key uses neither. */
  readonly apiKey?: string
  /** `https://api.anthropic.com/v1` by default. Requests are sent to `/messages` under it. */
  readonly baseUrl?: string
  /** The `anthropic-version` header, `2023-06-01` by default. */
  readonly version?: string
  /**
   * Sent with every call, for example `anthropic-beta`. Credentials among them are not sent with calls on a caller's
   * key.
   */
  readonly headers?: Readonly<Record<string, string>>
  /** Sends the calls, as that of {@link UpstreamSettings} does. */
  readonly dispatcher?: HostDispatcher | undefined
}

/**
 * An adapter to Anthropic's Messages API, or to any server that speaks it.
 *
 * Throws a `TypeError` at once if a setting is invalid. If the API cannot express a field of a request, the request
 * is rejected with the field's name before anything is sent; `toNativeRequest` lists how each field is converted.
 */
export function anthropic(settings: AnthropicSettings = {}): ChatAdapter {
  refuseUnknown(settings, SETTINGS, 'anthropic')
  const { apiKey, version = VERSION, headers = {} } = settings
  for (const [name, value] of Object.entries({ apiKey, version })) {
    if (value !== undefined && (typeof value !== 'string' || !VISIBLE.test(value))) {
      throw new TypeError(`${name} must be a string of visible ASCII characters.`)
    }
  }
  const upstream = createUpstream(
    { baseUrl: settings.baseUrl ?? BASE_URL, headers, dispatcher: settings.dispatcher },
    ENDPOINT,
  )
  for (const name of Object.keys(headers)) {
    if (OWN_HEADERS.has(name.toLowerCase())) {
      throw new TypeError(`headers: '${name}' is set by the adapter; use apiKey or version.`)
    }
  }
  warnOfUnsetKey(settings, 'anthropic')
  const ownKey = apiKey === undefined ? undefined : createSecret(apiKey)

  const credentialOf = ({ auth }: ProviderCall): HeaderList => {
    const secret = auth.kind === 'byok' ? auth.secret : (auth.secret ?? ownKey)
    return secret === undefined ? [] : ['x-api-key', secret.reveal()]
  }

  const prepare = (call: ProviderCall, take: UpstreamCall['take'], thinking: SentThinking): UpstreamCall => ({
    endpoint: ENDPOINT,
    headers: ['anthropic-version', version, ...credentialOf(call)],
    body: writeExactly(toNativeRequest(call.request, call.stream, thinking), randomUUID),
    onCallersKey: call.auth.kind === 'byok',
    stream: call.stream,
    limits: call.limits,
    signal: call.signal,
    trace: call.trace,
    reader: createReader(call.limits.eventBytes),
    take,
    instead(failure) {
      const other = thinkingAfter(failure, thinking)
      return other === undefined ? undefined : prepare(call, take, other)
    },
  })

  return {
    chat: (call, take) => upstream.post(() => prepare(call, take, ALL_THINKING)),
    tokenFactor: TOKEN_FACTOR,
    takesKeys: true,
    hasKey: apiKey !== undefined && isSecret(apiKey),
    needsBound: true,
    close: () => upstream.close(),
  }
}
