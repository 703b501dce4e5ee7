import { z } from 'zod'
import { ProviderError } from '../../base/errors.js'
import type {
  AdapterRun,
  Awaitable,
  ConversationAdapter,
  ProviderAdapter,
  ProviderCall,
} from '../../contracts/index.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { functionSchema, functionsSchema, optionsSchema, readOptions } from '../../rules/read-options.js'
import { refusesEncrypted, refusesSigned, wordsOfRefusal } from '../openai-input/signed-thoughts.js'
import { mostStopsIn } from '../openai-input/stops.js'
import { withPlainFunctions } from '../plain-functions.js'
import { reportingLosses } from '../report-losses.js'
import { withFittingNames } from '../tool-names.js'
import { unknownSetting } from '../unknown-fields.js'
import { untilAborted } from './abort.js'
import {
  type ParameterTranslation,
  type TranslatedCall,
  type Translation,
  toCallOptions,
} from './call-options.js'
import { readRefused, readResult } from './completion.js'
import { embedWith } from './embeddings.js'
import { toProviderError } from './errors.js'
import { cancel, type Reading, readParts } from './read-parts.js'
import {
  type AiSdkEmbeddingModel,
  type AiSdkLanguageModel,
  type SpecificationVersion,
  VERSIONS,
} from './specification.js'
import { LEAST_RESPONSES_OUTPUT, type ModelNames, namesOf } from './target-api.js'

export interface AiSdkSettings {
  /**
   * Creates the model for one call. `key` is the caller's own key if there is one, otherwise the route's secret,
   * otherwise `undefined`: then the model must have the host's key. If there is a `key`, use no other. An error thrown
   * here is the host's fault and becomes a `fault` event.
   */
  readonly model?: (upstreamModel: string, key?: string) => Awaitable<AiSdkLanguageModel>
  /**
   * Creates the embedding model for one call, as {@link model} creates a language model. An adapter without it does not
   * serve embeddings, and one without `model` does not serve chat completions. At least one of the two is required.
   */
  readonly embeddingModel?: (upstreamModel: string, key?: string) => Awaitable<AiSdkEmbeddingModel>
  /**
   * Request fields that the AI SDK has no setting for, each with a function that turns its value into
   * `providerOptions`, as in `{ reasoning_effort: (value) => ({ openai: { reasoningEffort: value } }) }`. Use
   * `() => ({})` to drop a field. Any other such field is rejected by name.
   */
  readonly parameters?: Readonly<Record<string, ParameterTranslation>>
  /**
   * Declares that callers may bring their own keys: `model` uses only the `key` that it is given, not even another in a
   * header, and the provider rejects a wrong key. `false` by default, since the adapter cannot find this out.
   */
  readonly takesKeys?: boolean
}

const settingsSchema = optionsSchema<AiSdkSettings>({
  model: functionSchema<NonNullable<AiSdkSettings['model']>>(
    'that makes a language model from its name',
  ).optional(),
  embeddingModel: functionSchema<NonNullable<AiSdkSettings['embeddingModel']>>(
    'that makes an embedding model from its name',
  ).optional(),
  parameters: functionsSchema<ParameterTranslation>(
    'that turns its value into providerOptions',
    '{ reasoning_effort: (value) => ({ openai: { reasoningEffort: value } }) }',
  ).optional(),
  takesKeys: z.boolean().optional(),
}).refine(({ embeddingModel, model }) => embeddingModel !== undefined || model !== undefined, {
  path: ['model'],
  error: 'must be a function that makes a language model from its name',
})

/**
 * An adapter to any model of the AI SDK with specification version 2, 3 or 4, and so to every provider that has a
 * package for it.
 *
 * The model's package controls connections, redirects and the time limit for connecting: give it a `fetch` if they
 * matter. A URL in a message reaches the model only if it matches the model's `supportedUrls`. Nothing is downloaded.
 */
export function aiSdk(settings: AiSdkSettings & Required<Pick<AiSdkSettings, 'model'>>): ConversationAdapter
export function aiSdk(settings: AiSdkSettings): ProviderAdapter
export function aiSdk(settings: AiSdkSettings): ProviderAdapter {
  const {
    embeddingModel,
    model,
    parameters = {},
    takesKeys = false,
  } = readOptions(settingsSchema, settings, 'aiSdk')
  const translations = new Map(Object.entries(parameters))

  return {
    parameters: [...translations.keys()],
    // The model may be any provider's, including Claude, so the factor is that of `anthropic`.
    tokenFactor: 1.5,
    takesKeys,
    // Nothing shows whether the model has a key. With `takesKeys`, the host says that its provider requires one.
    hasKey: takesKeys,
    ...(model !== undefined && {
      converse: converseWith(model, translations),
      leastHeldOutput: LEAST_RESPONSES_OUTPUT,
    }),
    ...(embeddingModel !== undefined && {
      embeddings: embedWith({ model: embeddingModel, parameters: translations }),
    }),
  }
}

function converseWith(
  model: NonNullable<AiSdkSettings['model']>,
  parameters: ReadonlyMap<string, ParameterTranslation>,
): AdapterRun<ConversationRequest> {
  return async (call, take) => {
    const languageModel = await untilAborted(
      () => model(call.request.model, call.auth.secret?.reveal()),
      call.signal,
    )
    const version = versionOf(languageModel)
    const { modelId, provider } = languageModel
    const names = { modelId: modelId ?? '', provider: provider ?? '' }
    const run = runWith(languageModel, version, names, parameters)
    const plain = withPlainFunctions({ customTools: false, singleCalls: false }, run)
    return withFittingNames('conversation', namesOf(names), plain)(call, take)
  }
}

function runWith(
  languageModel: AiSdkLanguageModel,
  version: SpecificationVersion,
  names: ModelNames,
  parameters: ReadonlyMap<string, ParameterTranslation>,
): AdapterRun<ConversationRequest> {
  return async (call, take) => {
    const { signal } = call
    const urls = (await untilAborted(() => languageModel.supportedUrls, signal).catch(failed)) ?? {}
    const target = { version, urls, ...names }
    const run = async (form: SentForm): Promise<{ terminated: boolean }> => {
      const translated = toCallOptions(call.request, { target, parameters, ...form })
      const { asked, lost, options } = translated
      const source = { version, provider: languageModel.provider }
      try {
        return await ask(languageModel, options, { source, asked, call, take: reportingLosses(lost, take) })
      } catch (failure) {
        const other = formAfter(wordsOfRefusal(failure), translated, form)
        if (other === undefined) throw unknownSetting(failure, call.request) ?? failure
        return run(other)
      }
    }
    return run({ thoughts: true, mostStops: Number.POSITIVE_INFINITY })
  }
}

type SentForm = Pick<Translation, 'thoughts' | 'mostStops'>

/** Returns the form in which to send a call again after its provider refused it. Undefined if the failure is final. */
function formAfter(words: string, translated: TranslatedCall, form: SentForm): SentForm | undefined {
  if (form.thoughts && hasThoughts(translated) && refusesThoughts(words)) return { ...form, thoughts: false }
  const mostStops = mostStopsIn(words)
  const { stopSequences = [] } = translated.options
  return mostStops !== undefined && mostStops < stopSequences.length ? { ...form, mostStops } : undefined
}

async function ask(
  model: AiSdkLanguageModel,
  translated: TranslatedCall['options'],
  { call, ...reading }: Omit<Reading, 'call'> & { readonly call: ProviderCall<ConversationRequest> },
): Promise<{ terminated: boolean }> {
  const { signal, sizes, stream: isStream, trace } = call
  const options = {
    ...translated,
    ...(trace !== undefined && { headers: { ...trace } }),
    abortSignal: signal,
  } as never
  if (isStream) {
    const { stream } = await untilAborted(
      () => model.doStream(options),
      signal,
      (late) => cancel(() => late.stream.getReader()),
    ).catch(failed)
    return readParts(stream, { ...reading, call })
  }
  const { asked, source, take } = reading
  // No variable of this function holds the result, or it would stay in memory until there is room for the reply.
  await untilAborted(() => model.doGenerate(options), signal)
    .then(
      (result) => readResult(result, { source, asked, replyBytes: sizes.replyBytes }),
      (error) => readRefused(error, sizes.replyBytes) ?? failed(error),
    )
    .then(take)
  return { terminated: true }
}

function hasThoughts({ options }: TranslatedCall): boolean {
  return options.prompt.some(
    ({ content, role }) => role === 'assistant' && content.some(({ type }) => type === 'reasoning'),
  )
}

/** A conversation goes on without the thoughts of another provider or account, which Claude and OpenAI refuse. */
function refusesThoughts(words: string): boolean {
  return refusesSigned(words) || refusesEncrypted(words)
}

const failed = (error: unknown): never => {
  throw toProviderError(error)
}

function versionOf(model: AiSdkLanguageModel): SpecificationVersion {
  if (typeof model?.doGenerate !== 'function' || typeof model.doStream !== 'function') {
    throw new TypeError(
      'aiSdk: model() returned no language model with doGenerate and doStream. Providers of the AI SDK make one from a name, for example openai.chat(name).',
    )
  }
  const version = VERSIONS.find((known) => known === model.specificationVersion)
  if (version !== undefined) return version
  throw new ProviderError(
    'invalid-response',
    `The model must have specification version ${VERSIONS.join(', ')}.`,
  )
}
