import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { createSecret } from '../../base/secret.js'
import type { ConversationAdapter, ProviderAdapter, ProviderCall } from '../../contracts/index.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { writeExactly } from '../../protocol/exact-data.js'
import type { MessagesRequest } from '../../protocol/messages-request.js'
import { isSecret } from '../../protocol/secret-search.js'
import { optionsSchema, readOptions } from '../../rules/read-options.js'
import { mustBe } from '../../rules/schema-faults.js'
import type { HostDispatcher } from '../../upstream/dispatcher.js'
import type { HeaderList } from '../../upstream/sender.js'
import { refusesSigned, wordsOfRefusal } from '../openai-input/signed-thoughts.js'
import { withPlainFunctions } from '../plain-functions.js'
import { reportingLosses } from '../report-losses.js'
import { TOOL_NAMES, withFittingNames } from '../tool-names.js'
import { unknownField, unknownSetting } from '../unknown-fields.js'
import { warnOfUnsetKey } from '../unset-key.js'
import { createUpstream, headersSchema, upstreamSchemas } from '../upstream.js'
import type { UpstreamRequest } from '../upstream-request.js'
import { countBody, nativeBody } from './native-body.js'
import { createCountReader, createReader } from './reader.js'
import { ALL_THINKING, lossesOf, type SentThinking, toNativeRequest } from './request.js'

const BASE_URL = 'https://api.anthropic.com/v1'
const ENDPOINT = '/messages'
const COUNT_ENDPOINT = '/messages/count_tokens'
const BETA = 'anthropic-beta'
const VERSION = '2023-06-01'
/**
 * Claude's tokenizers make up to a third more tokens from a text than OpenAI's do, and the latest one another third.
 */
const TOKEN_FACTOR = 1.5
const OWN_HEADERS = new Map([
  ['x-api-key', 'apiKey'],
  ['anthropic-version', 'version'],
])
const VISIBLE = 'a string of visible ASCII characters'
const visibleSchema = z.string(mustBe(VISIBLE)).regex(/^[\x21-\x7e]+$/, `must be ${VISIBLE}`)
const { baseUrl, dispatcher } = upstreamSchemas(ENDPOINT)
const settingsSchema = optionsSchema<AnthropicSettings>({
  apiKey: visibleSchema.optional(),
  baseUrl: baseUrl.optional(),
  version: visibleSchema.optional(),
  headers: headersSchema(OWN_HEADERS).optional(),
  dispatcher,
})

export interface AnthropicSettings {
  /** The host's key. A route's secret takes precedence over it. A call with a caller's own key uses neither. */
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

/** An adapter that serves conversations and, unchanged, messages. */
export type MessagesAdapter = ConversationAdapter &
  Required<Pick<ProviderAdapter, 'messages' | 'countMessageTokens'>>

/**
 * An adapter to Anthropic's Messages API, or to any server that speaks it.
 *
 * Throws a `TypeError` at once if a setting is invalid. If the API cannot express a field of a request, the request
 * is rejected with the field's name before anything is sent; `toNativeRequest` lists how each field is converted.
 */
export function anthropic(given: AnthropicSettings = {}): MessagesAdapter {
  const settings = readOptions(settingsSchema, given, 'anthropic')
  const { apiKey, version = VERSION, headers = {} } = settings
  const { betas, others } = splitBetas(headers)
  const names = TOOL_NAMES.messages
  const upstream = createUpstream({
    baseUrl: settings.baseUrl ?? BASE_URL,
    headers: others,
    dispatcher: settings.dispatcher,
  })
  warnOfUnsetKey(given, 'anthropic')
  const ownKey = apiKey === undefined ? undefined : createSecret(apiKey)

  /** Returns the headers of a call. The caller's beta features are added to the host's. */
  const headersOf = ({ auth }: Pick<ProviderCall, 'auth'>, ofCaller: readonly string[] = []): HeaderList => {
    const list = ['anthropic-version', version]
    const names = [...new Set([...betas, ...ofCaller])]
    if (names.length > 0) list.push(BETA, names.join(','))
    const secret = auth.kind === 'byok' ? auth.secret : (auth.secret ?? ownKey)
    if (secret !== undefined) list.push('x-api-key', secret.reveal())
    return list
  }

  const prepare = (
    call: ProviderCall<ConversationRequest>,
    take: UpstreamRequest['take'],
    thinking: SentThinking,
  ): UpstreamRequest => {
    const native = toNativeRequest(call.request, call.stream, thinking)
    return {
      call,
      endpoint: ENDPOINT,
      headers: headersOf(call),
      body: writeExactly(native, randomUUID),
      reader: createReader(call.sizes.eventBytes, call.fastPaths),
      take: reportingLosses(lossesOf(call.request, native), take),
      instead(failure) {
        const other = thinkingAfter(failure, thinking)
        return other === undefined ? undefined : prepare(call, take, other)
      },
      explain: (failure) => unknownSetting(failure, call.request) ?? failure,
    }
  }

  const prepareNative = (
    call: ProviderCall<MessagesRequest>,
    take: UpstreamRequest['take'],
    thinking: SentThinking,
  ): UpstreamRequest => ({
    call,
    endpoint: ENDPOINT,
    headers: headersOf(call, call.request.betas),
    body: writeExactly(nativeBody(call.request, call.stream, thinking), randomUUID),
    reader: createReader(call.sizes.eventBytes, call.fastPaths),
    take,
    instead(failure) {
      const other = thinkingAfter(failure, thinking)
      return other === undefined ? undefined : prepareNative(call, take, other)
    },
    explain: (failure) => unknownField(failure, call.request) ?? failure,
  })

  const prepareCount = (
    call: ProviderCall<MessagesRequest>,
    take: UpstreamRequest['take'],
  ): UpstreamRequest => ({
    call,
    endpoint: COUNT_ENDPOINT,
    headers: headersOf(call, call.request.betas),
    body: writeExactly(countBody(call.request), randomUUID),
    reader: createCountReader(call.sizes.eventBytes),
    take,
  })

  return {
    converse: withFittingNames<ConversationRequest>(
      'conversation',
      names,
      withPlainFunctions({ customTools: false, singleCalls: true }, async (call, take) =>
        upstream.post(() => prepare(call, take, ALL_THINKING)),
      ),
    ),
    messages: withFittingNames('messages', names, async (call, take) =>
      upstream.post(() => prepareNative(call, take, ALL_THINKING)),
    ),
    countMessageTokens: withFittingNames('messages', names, async (call, take) =>
      upstream.post(() => prepareCount(call, take)),
    ),
    tokenFactor: TOKEN_FACTOR,
    takesKeys: true,
    hasKey: apiKey !== undefined && isSecret(apiKey),
    needsBound: true,
    close: () => upstream.close(),
  }
}

/** Takes the host's `anthropic-beta` out of its headers, since a call may add features to it. */
function splitBetas(headers: Readonly<Record<string, string>>) {
  const entries = Object.entries(headers)
  const isBeta = ([name]: readonly [string, string]) => name.toLowerCase() === BETA
  return {
    betas: entries.filter(isBeta).flatMap(([, value]) => value.split(',').map((beta) => beta.trim())),
    others: Object.fromEntries(entries.filter((entry) => !isBeta(entry))),
  }
}

const MISSES_BLOCKS = /\bExpected .?thinking\b.{0,60}\bfound\b/

/**
 * Returns the thinking with which to send a conversation again after the provider rejected it. Undefined if the failure
 * is final. The text may come from the caller, so it affects only the caller's own call.
 */
function thinkingAfter(failure: unknown, sent: SentThinking): SentThinking | undefined {
  const words = wordsOfRefusal(failure)
  if (sent.blocks && refusesSigned(words)) return { blocks: false, budget: sent.budget }
  if (sent.budget && MISSES_BLOCKS.test(words)) return { blocks: sent.blocks, budget: false }
  return undefined
}
