import type { Awaitable, ProviderAdapter, ProviderCall, ProviderEvent } from '../../contracts/index.js'
import { ProviderError } from '../../errors.js'
import { whileWanted } from './abort.js'
import { type ParameterTranslation, toCallOptions } from './call-options.js'
import { readResult } from './completion.js'
import { readParts } from './read-parts.js'
import { type AiSdkLanguageModel, type SpecificationVersion, VERSIONS } from './specification.js'

export interface AiSdkSettings {
  /**
   * Makes the model of one call. `key` is the caller's own key where there is one, else the route's secret, else
   * `undefined`: then the host's key is the model's own business. Where a key is given use no other.
   */
  readonly model: (upstreamModel: string, key?: string) => Awaitable<AiSdkLanguageModel>
  /**
   * Request fields that the AI SDK has no setting for, each with what turns its value to `providerOptions`, as in
   * `{ reasoning_effort: (value) => ({ openai: { reasoningEffort: value } }) }`; `() => ({})` leaves the field out. A field
   * without one is refused by name.
   */
  readonly parameters?: Readonly<Record<string, ParameterTranslation>>
}

/**
 * An adapter to any language model of the AI SDK, specification version 2, 3 or 4, and so to every provider that has a
 * package for it.
 *
 * Connections, redirects and the time to connect are the model's own: give its package a `fetch` where they matter.
 * An address in a message reaches the model only where the model's `supportedUrls` names it; nothing is downloaded.
 */
export function aiSdk({ model, parameters = {} }: AiSdkSettings): ProviderAdapter {
  if (typeof model !== 'function') {
    throw new TypeError('model must be a function that makes a language model from its name.')
  }
  const translations = new Map(Object.entries(parameters))
  for (const [field, translation] of translations) {
    if (typeof translation !== 'function') throw new TypeError(`parameters.${field} must be a function.`)
  }

  return {
    async chat(call, take) {
      const { signal, limits } = call
      const languageModel = await whileWanted(() => makeModel(model, call), signal)
      const version = versionOf(languageModel)
      const urls = (await whileWanted(() => languageModel.supportedUrls, signal)) ?? {}
      const source = { version, provider: languageModel.provider }
      const translated = toCallOptions(call.request, { version, urls, parameters: translations })
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
        )
        return readParts(stream, { source, asked, call, take })
      }
      const result = await whileWanted(() => languageModel.doGenerate(options), signal)
      const events: readonly ProviderEvent[] = readResult(result, {
        source,
        asked,
        replyBytes: limits.replyBytes,
      })
      await take(events)
      return { terminated: true }
    },
  }
}

/** Under a caller's own key there is no other. */
async function makeModel(model: AiSdkSettings['model'], { auth, request }: ProviderCall) {
  try {
    return await model(request.model, auth.secret?.reveal())
  } catch (cause) {
    throw new ProviderError('invalid-response', 'The function that makes the model failed.', { cause })
  }
}

function versionOf({ specificationVersion }: AiSdkLanguageModel): SpecificationVersion {
  const version = VERSIONS.find((known) => known === specificationVersion)
  if (version !== undefined) return version
  throw new ProviderError(
    'invalid-response',
    `The model must have specification version ${VERSIONS.join(', ')}.`,
  )
}
