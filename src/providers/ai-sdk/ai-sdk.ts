import { ProviderError } from '../../base/errors.js'
import type {
  AdapterRun,
  Awaitable,
  ChatAdapter,
  ProviderAdapter,
  ProviderEvent,
} from '../../contracts/index.js'
import { refuseUnknown, requireFunctions } from '../../contracts/option-checks.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { whileWanted } from './abort.js'
import { type ParameterTranslation, toCallOptions } from './call-options.js'
import { readResult } from './completion.js'
import { embedWith } from './embeddings.js'
import { toProviderError } from './errors.js'
import { readParts } from './read-parts.js'
import {
  type AiSdkEmbeddingModel,
  type AiSdkLanguageModel,
  type SpecificationVersion,
  VERSIONS,
} from './specification.js'

export interface AiSdkSettings {
  /**
   * Makes the model of one call. `key` is the caller's own key if there is one, otherwise the route's secret, otherwise
   * `undefined`: then the model brings the host's key itself. If there is a `key`, use no other. A throw is a fault of the
   * host, and becomes a `fault` event.
   */
  readonly model?: (upstreamModel: string, key?: string) => Awaitable<AiSdkLanguageModel>
  /**
   * Makes the embedding model of one call, as {@link model} does a language model. An adapter without it serves no
   * embeddings, one without `model` no chat completions. At least one of the two must be there.
   */
  readonly embeddingModel?: (upstreamModel: string, key?: string) => Awaitable<AiSdkEmbeddingModel>
  /**
   * Request fields that the AI SDK has no setting for, each with what turns its value to `providerOptions`, as in
   * `{ reasoning_effort: (value) => ({ openai: { reasoningEffort: value } }) }`; `() => ({})` leaves the field out. A field
   * without one is refused by name.
   */
  readonly parameters?: Readonly<Record<string, ParameterTranslation>>
  /**
   * Says that callers may bring keys of their own: that `model` uses the `key` it is given and no other, in no header
   * either, and that the provider refuses a wrong one. `false` by default, since nothing else tells.
   */
  readonly takesKeys?: boolean
}

/**
 * An adapter to any language model of the AI SDK, specification version 2, 3 or 4, and so to every provider that has a
 * package for it.
 *
 * The model's package controls connections, redirects and the time to connect: give it a `fetch` if they matter. An
 * address in a message reaches the model only if `supportedUrls` of the model names it. Nothing is downloaded.
 */
export function aiSdk(settings: AiSdkSettings & Required<Pick<AiSdkSettings, 'model'>>): ChatAdapter
export function aiSdk(settings: AiSdkSettings): ProviderAdapter
export function aiSdk(settings: AiSdkSettings): ProviderAdapter {
  refuseUnknown(settings, ['model', 'embeddingModel', 'parameters', 'takesKeys'], 'aiSdk')
  const { embeddingModel, model, parameters = {}, takesKeys = false } = settings
  if (typeof model !== 'function' && (model !== undefined || embeddingModel === undefined)) {
    throw new TypeError('model must be a function that makes a language model from its name.')
  }
  if (embeddingModel !== undefined && typeof embeddingModel !== 'function') {
    throw new TypeError('embeddingModel must be a function that makes an embedding model from its name.')
  }
  if (typeof takesKeys !== 'boolean') throw new TypeError('takesKeys must be true or false.')
  requireFunctions(
    'parameters',
    parameters,
    'that turns its value to providerOptions',
    '{ reasoning_effort: (value) => ({ openai: { reasoningEffort: value } }) }',
  )
  const translations = new Map(Object.entries(parameters))

  return {
    parameters: [...translations.keys()],
    // It may be any provider's model, also Claude: as many tokens as `anthropic` says.
    tokenFactor: 1.5,
    takesKeys,
    // Whose key its model has, nothing tells; that the provider asks for one is what the host says with `takesKeys`.
    hasKey: takesKeys,
    ...(model !== undefined && { chat: chatWith(model, translations) }),
    ...(embeddingModel !== undefined && {
      embeddings: embedWith({ model: embeddingModel, parameters: translations }),
    }),
  }
}

function chatWith(
  model: NonNullable<AiSdkSettings['model']>,
  parameters: ReadonlyMap<string, ParameterTranslation>,
): AdapterRun<ChatRequest> {
  return async (call, take) => {
    const { signal, limits } = call
    const languageModel = await whileWanted(
      () => model(call.request.model, call.auth.secret?.reveal()),
      signal,
    )
    const version = versionOf(languageModel)
    const urls = (await whileWanted(() => languageModel.supportedUrls, signal).catch(failed)) ?? {}
    const source = { version, provider: languageModel.provider }
    const translated = toCallOptions(call.request, { version, urls, parameters })
    const { asked } = translated
    const options = {
      ...translated.options,
      ...(call.trace !== undefined && { headers: { ...call.trace } }),
      abortSignal: signal,
    } as never
    if (call.stream) {
      const { stream } = await whileWanted(
        () => languageModel.doStream(options),
        signal,
        (late) =>
          void late.stream
            .getReader()
            .cancel()
            .catch(() => {}),
      ).catch(failed)
      return readParts(stream, { source, asked, call, take })
    }
    const result = await whileWanted(() => languageModel.doGenerate(options), signal).catch(failed)
    const events: readonly ProviderEvent[] = readResult(result, {
      source,
      asked,
      replyBytes: limits.replyBytes,
    })
    await take(events)
    return { terminated: true }
  }
}

const failed = (error: unknown): never => {
  throw toProviderError(error)
}

function versionOf(model: AiSdkLanguageModel): SpecificationVersion {
  if (typeof model?.doGenerate !== 'function' || typeof model.doStream !== 'function') {
    throw new TypeError(
      'aiSdk: model() returned no language model, which has doGenerate and doStream. A provider of the AI SDK makes one from a name, as openai.chat(name) does.',
    )
  }
  const version = VERSIONS.find((known) => known === model.specificationVersion)
  if (version !== undefined) return version
  throw new ProviderError(
    'invalid-response',
    `The model must have specification version ${VERSIONS.join(', ')}.`,
  )
}
