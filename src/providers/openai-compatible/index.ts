import { z } from 'zod'
import { ProviderError } from '../../base/errors.js'
import type {
  ChatAdapter,
  ConversationAdapter,
  EmbeddingsAdapter,
  ProviderCall,
  ProviderEvent,
  ProviderRequest,
} from '../../contracts/providers.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import type { ResponsesRequest } from '../../protocol/responses-request.js'
import { isSecret } from '../../protocol/secret-search.js'
import type { UsageReport } from '../../protocol/usage.js'
import { optionsSchema, readOptions } from '../../rules/read-options.js'
import { mustBe } from '../../rules/schema-faults.js'
import type { HeaderList } from '../../upstream/sender.js'
import { withoutOlderForm } from '../older-form.js'
import { withPlainFunctions } from '../plain-functions.js'
import { parseProviderObject } from '../provider-json.js'
import { type ReplyFormat, ReplyReader } from '../reply-reader.js'
import { reportingLosses } from '../report-losses.js'
import { TOOL_NAMES, withFittingNames } from '../tool-names.js'
import { unknownField, unknownSetting } from '../unknown-fields.js'
import { warnOfUnsetKey } from '../unset-key.js'
import { createUpstream, type UpstreamSettings, upstreamSchemas } from '../upstream.js'
import { frameError } from '../upstream-errors.js'
import type { UpstreamRequest } from '../upstream-request.js'
import type { HistoryForm } from './history.js'
import { fieldsAt } from './limits.js'
import {
  fieldsAfter,
  formAfter,
  hintAtUsage,
  lossesOf,
  rejectsFunctions,
  rejectsReasoning,
  unknownLabel,
} from './omissions.js'
import { ProviderReasoning, ReplyReading } from './reply.js'
import { buildRequestBody, FULL_FORM } from './request.js'
import { createResponsesReader, repeatedBytes } from './responses-reply.js'
import { buildResponsesBody, type ResponsesForm, toResponsesRequest } from './responses-request.js'
import { readUsage } from './usage.js'

export interface OpenAiCompatibleSettings extends UpstreamSettings {
  /**
   * The API in which the provider receives chats and responses: `POST {baseUrl}/chat/completions` (`chat`, the
   * default), or `POST {baseUrl}/responses`, which keeps encrypted reasoning in conversations. The provider is asked to
   * store nothing.
   */
  readonly api?: 'chat' | 'responses'
  /** The host's own key, sent as a bearer token. A route's `secret` or a caller's own key replaces it. */
  readonly apiKey?: string
  /** Set to `output` if the provider's total includes output that it lists nowhere else (Gemini's thoughts). */
  readonly unlistedTokens?: 'output'
  /**
   * The field for the output token limit, if neither the route nor the model has `supportedParameters` that name one
   * of the two. By default it is `max_completion_tokens` for `api.openai.com`, whose reasoning models reject the other
   * one. For all other providers it is the field that the client used, or else `max_tokens`, which most servers know.
   */
  readonly outputBound?: 'max_tokens' | 'max_completion_tokens'
  /**
   * Whether to request the usage of a stream with `stream_options`. `true` by default, except for `api.mistral.ai`,
   * which rejects the field and reports usage without it. Set `false` for any other provider that rejects it. If such
   * a provider does not report usage, calls are charged by an estimate.
   */
  readonly streamUsage?: boolean
  /**
   * Whether to pass on the reasoning that clients send back with earlier replies. `true` by default: a call that is
   * rejected because of it is sent again without it, and one that is rejected because `reasoning_content` is missing is
   * sent again with that field in every reply. To save the second request, set `false` for a provider that rejects
   * reasoning, and the name of the field for one that requires it of every reply.
   */
  readonly reasoningHistory?: boolean | 'reasoning' | 'reasoning_content'
  /**
   * Whether the provider knows the role `developer`. If not, such messages are sent with the role `system`, which has
   * the same meaning. `false` by default, except for `api.openai.com`. With `true`, a call that is rejected because of
   * the role is sent again with `system`.
   */
  readonly developerRole?: boolean
  /**
   * The format in which embeddings are requested. `base64` takes a fourth of the bytes of `numbers`, which a large
   * batch needs to stay within `sizes.replyBytes`. `base64` by default for `api.openai.com`. Other providers are sent
   * no format by default, since some refuse the field, and most then send numbers. Either format is accepted, and
   * clients get the one that they asked for.
   */
  readonly embeddingsFormat?: 'base64' | 'numbers'
}

const CHAT = '/chat/completions'
const RESPONSES = '/responses'
const EMBEDDINGS = '/embeddings'
const API_KEY = 'a string of visible ASCII characters. Leave it out for a provider that asks for none'

const settingsSchema = optionsSchema<OpenAiCompatibleSettings>({
  ...upstreamSchemas(CHAT, RESPONSES, EMBEDDINGS),
  apiKey: z
    .string(mustBe(API_KEY))
    .regex(/^[\x21-\x7e]+$/, `must be ${API_KEY}`)
    .optional(),
  api: z.enum(['chat', 'responses']).optional(),
  unlistedTokens: z.literal('output').optional(),
  outputBound: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
  streamUsage: z.boolean().optional(),
  reasoningHistory: z.literal([true, false, 'reasoning', 'reasoning_content']).optional(),
  developerRole: z.boolean().optional(),
  embeddingsFormat: z.enum(['base64', 'numbers']).optional(),
})

/** Providers that reject `stream_options`, but report the usage of each stream anyway. */
const REPORT_USAGE_UNASKED = new Set(['api.mistral.ai'])
/** The Responses API rejects a smaller `max_output_tokens`. */
const LEAST_RESPONSE_BOUND = 16
/** Providers whose newer models reject `max_tokens`. */
const TAKE_COMPLETION_BOUND = new Set(['api.openai.com'])
const KNOW_DEVELOPERS = new Set(['api.openai.com'])
/** Providers that know only today's form of tools. */
const KNOW_NO_FUNCTIONS = new Set(['api.mistral.ai', 'api.deepseek.com'])
const SEND_BASE64 = new Set(['api.openai.com'])
/** Providers that accept only ids of nine letters and digits, a reply after each result, and a marked reply at the end. */
const MISTRAL = new Set(['api.mistral.ai'])
/** Providers that accept only names of tools that begin with a letter or an underscore. */
const WANT_PLAIN_NAMES = /(?:\bgoogleapis\.com|^api\.moonshot\.(?:ai|cn))$/

/** The part of a conversation that explains why a provider refused the request that was made from it. */
type MadeFrom = Pick<ConversationRequest, 'settings'>

/**
 * An adapter to any provider with OpenAI's `POST {baseUrl}/chat/completions`, `/responses` or `/embeddings`.
 *
 * Throws a `TypeError` if a setting is wrong. No error ever shows the key. Connections are reused. The time limit for
 * connecting is that of the first call.
 */
export function openaiCompatible(
  given: OpenAiCompatibleSettings & { readonly api: 'responses' },
): ConversationAdapter & EmbeddingsAdapter
export function openaiCompatible(
  given: OpenAiCompatibleSettings & { readonly api?: 'chat' },
): ChatAdapter & EmbeddingsAdapter
export function openaiCompatible(given: OpenAiCompatibleSettings): EmbeddingsAdapter
export function openaiCompatible(given: OpenAiCompatibleSettings): EmbeddingsAdapter {
  const settings = readOptions(settingsSchema, given, 'openaiCompatible')
  const {
    api = 'chat',
    apiKey,
    embeddingsFormat: embeddingsForm,
    reasoningHistory = true,
    unlistedTokens,
  } = settings
  const upstream = createUpstream(settings)
  const { hostname } = new URL(settings.baseUrl)
  const asBase64 = (embeddingsForm ?? (SEND_BASE64.has(hostname) ? 'base64' : undefined)) === 'base64'
  const { outputBound = TAKE_COMPLETION_BOUND.has(hostname) ? 'max_completion_tokens' : undefined } = settings
  const { streamUsage = !REPORT_USAGE_UNASKED.has(hostname) } = settings
  const ownForm: HistoryForm = {
    ...FULL_FORM.history,
    reasoning: reasoningHistory === true ? 'sent' : reasoningHistory || 'omitted',
    shortIds: MISTRAL.has(hostname),
    answersResults: MISTRAL.has(hostname),
    marksPrefix: MISTRAL.has(hostname),
    developerRole: settings.developerRole ?? KNOW_DEVELOPERS.has(hostname),
  }
  const ownFields = fieldsAt(hostname)
  const knowsFunctions = !KNOW_NO_FUNCTIONS.has(hostname)
  warnOfUnsetKey(given, 'openaiCompatible')
  const ownCredential = apiKey === undefined ? [] : credential(apiKey)

  const providerReasoning = new ProviderReasoning()
  let form = ownForm
  const currentForm = (): HistoryForm => {
    const { field } = providerReasoning
    if (form.ownField !== field) form = { ...ownForm, ownField: field }
    return form
  }

  const credentialOf = ({ auth }: ProviderCall<ProviderRequest>): HeaderList => {
    if (auth.kind === 'byok') return credential(auth.secret.reveal())
    return auth.secret ? credential(auth.secret.reveal()) : ownCredential
  }

  const prepare = (
    call: ProviderCall,
    take: UpstreamRequest['take'],
    history: HistoryForm,
    fields = ownFields,
  ): UpstreamRequest => ({
    call,
    endpoint: CHAT,
    headers: credentialOf(call),
    body: buildRequestBody(call.request, call.stream, { usage: streamUsage, history, fields }, call.sentText),
    reader: new ReplyReader(
      call.sizes.eventBytes,
      new ReplyReading(call.fastPaths?.lines !== false, unlistedTokens, providerReasoning),
    ),
    take: reportingLosses(lossesOf(call, history, fields), take),
    instead(failure) {
      const other = formAfter(failure, history, call)
      if (other !== undefined) return prepare(call, take, other, fields)
      const otherFields = fieldsAfter(failure, fields, call)
      if (otherFields !== undefined) return prepare(call, take, history, otherFields)
      const newer = rejectsFunctions(failure) ? withoutOlderForm(call, take) : undefined
      return newer && prepare(newer.call, newer.take, history, fields)
    },
    explain: (failure) =>
      unknownField(failure, call.request) ?? (call.stream && streamUsage ? hintAtUsage(failure) : failure),
  })

  const prepareResponse = (
    call: ProviderCall<ResponsesRequest>,
    take: UpstreamRequest['take'],
    form: ResponsesForm,
    given?: MadeFrom,
  ): UpstreamRequest => {
    const body = buildResponsesBody(call.request, call.stream, form)
    return {
      call,
      endpoint: RESPONSES,
      headers: credentialOf(call),
      body,
      reader: createResponsesReader(body, call.sizes.eventBytes, unlistedTokens),
      repeatedBytes: repeatedBytes(body),
      take,
      instead(failure) {
        const { omitted, reasoning } = form
        if (reasoning && rejectsReasoning(failure, call)) {
          return prepareResponse(call, take, { ...form, reasoning: false }, given)
        }
        const label = unknownLabel(failure, call.request, omitted)
        if (label === undefined) return undefined
        return prepareResponse(call, take, { ...form, omitted: [...omitted, label] }, given)
      },
      explain: (failure) =>
        (given === undefined ? unknownField(failure, call.request) : unknownSetting(failure, given)) ??
        failure,
    }
  }
  /** @param given the settings from which the request was made, if its client has another API */
  const respond = (given?: MadeFrom) =>
    withFittingNames<ResponsesRequest>('responses', TOOL_NAMES.responses, async (call, take) =>
      upstream.post(() =>
        prepareResponse(call, take, { reasoning: reasoningHistory !== false, omitted: [] }, given),
      ),
    )
  const chatNames = WANT_PLAIN_NAMES.test(hostname) ? TOOL_NAMES.plain : TOOL_NAMES.chat
  const complete = withFittingNames<ChatRequest>('chat', chatNames, (call, take) => {
    const newer = knowsFunctions ? undefined : withoutOlderForm(call, take)
    return upstream.post(() => prepare(newer?.call ?? call, newer?.take ?? take, currentForm()))
  })

  return {
    ...(api === 'chat' && { chat: complete }),
    ...(api === 'responses' && {
      responses: respond(),
      converse: withPlainFunctions({ customTools: true, singleCalls: true }, async (call, take) =>
        respond({ settings: call.request.settings })(
          { ...call, request: toResponsesRequest(call.request) },
          take,
        ),
      ),
    }),
    embeddings: async (call, take) =>
      upstream.post(() => ({
        call,
        endpoint: EMBEDDINGS,
        headers: credentialOf(call),
        // The operation has already removed everything that is not for providers.
        body: JSON.stringify(asBase64 ? { ...call.request, encoding_format: 'base64' } : call.request),
        reader: new ReplyReader(call.sizes.eventBytes, embeddingsFormat),
        take,
        explain: (failure) => unknownField(failure, call.request) ?? failure,
      })),
    ...(asBase64 && { embeddingsFormat: 'base64' as const }),
    ...(outputBound !== undefined && { outputBound }),
    ...(api === 'responses' && { leastOutputBound: LEAST_RESPONSE_BOUND }),
    takesKeys: true,
    hasKey: apiKey !== undefined && isSecret(apiKey),
    close: () => upstream.close(),
  }
}

function credential(key: string): HeaderList {
  return ['authorization', `Bearer ${key}`]
}

const embeddingsFormat: ReplyFormat = {
  fastPaths: false,
  list: {
    name: 'data',
    // A float of 32 bits has 5 characters in base64, and up to 20 as a number for the client.
    copies: (item) => (isObject(item) && typeof item.embedding === 'string' ? 4 : 1),
  },
  onBody: readEmbeddings,
  onEvent: () => {
    throw new ProviderError('invalid-response', 'The provider streamed its embeddings.')
  },
}

function readEmbeddings(json: string, events: ProviderEvent[], items?: readonly unknown[]): void {
  const reply = parseProviderObject(json)
  const { data: list, id } = reply
  const data = items !== undefined && Array.isArray(list) && list.length === 0 ? items : list
  if (!Array.isArray(data)) {
    if (reply.error !== undefined && reply.error !== null) throw frameError(reply)
    throw new ProviderError('invalid-response', 'The reply has no list of embeddings.')
  }
  events.push({ type: 'completion', completion: { data, id } })
  const usage = usageOf(reply)
  if (usage !== undefined) events.push({ type: 'usage', usage })
}

/** Some providers report only a total, which is then the input. */
function usageOf({ usage }: JsonObject): UsageReport | undefined {
  if (!isObject(usage)) return undefined
  const { prompt_tokens: prompt, total_tokens: total } = usage
  const isTotalAlone = (prompt ?? usage.input_tokens ?? undefined) === undefined && total !== undefined
  return readUsage(isTotalAlone ? { ...usage, prompt_tokens: total } : usage, undefined)
}
