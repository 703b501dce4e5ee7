import { ProviderError, replyTooLong } from '../../base/errors.js'
import type { AdapterRun, ProviderEvent } from '../../contracts/providers.js'
import { unsupported } from '../../conversation/unsupported.js'
import type { EmbeddingRequest } from '../../protocol/embedding-request.js'
import { isObject } from '../../protocol/json-values.js'
import { isCount } from '../../protocol/usage.js'
import { untilAborted } from './abort.js'
import type { ParameterTranslation } from './call-options.js'
import { toProviderError } from './errors.js'
import { lengthOf } from './length.js'
import { type AiSdkEmbeddingModel, type ProviderOptions, VERSIONS } from './specification.js'

/** The most calls of a model at once for one request. */
const MOST_AT_ONCE = 8
const NUMBER_BYTES = 8

/** Fields that have their own place in the call, or that are not sent. */
const READ = new Set(['model', 'input', 'user'])

export interface EmbeddingsSettings {
  readonly model: (upstreamModel: string, key?: string) => AiSdkEmbeddingModel | Promise<AiSdkEmbeddingModel>
  readonly parameters: ReadonlyMap<string, ParameterTranslation>
}

/** Embeds with a model of the AI SDK, in as many calls of the model as its limit requires. */
export function embedWith({
  model: makeModel,
  parameters,
}: EmbeddingsSettings): AdapterRun<EmbeddingRequest> {
  return async ({ auth, request, signal, sizes, trace }, take) => {
    const failing = new AbortController()
    const model = await untilAborted(() => makeModel(request.model, auth.secret?.reveal()), signal)
    checkModel(model)
    const values = textsOf(request)
    const providerOptions = optionsOf(request, parameters)
    const embed = (batch: readonly string[]): Promise<object> => {
      // A signal of its own: Node warns of more than ten listeners.
      const abortSignal = AbortSignal.any([signal, failing.signal])
      return untilAborted(
        () =>
          model.doEmbed({
            values: [...batch],
            abortSignal,
            ...(trace !== undefined && { headers: { ...trace } }),
            ...(Object.keys(providerOptions).length > 0 && { providerOptions }),
          } as never),
        abortSignal,
      ).catch(failed)
    }
    const limit = (await untilAborted(() => model.maxEmbeddingsPerCall, signal).catch(failed)) ?? Infinity
    const batches = inBatches(values, limit)
    const isParallel = await untilAborted(() => model.supportsParallelCalls, signal).catch(failed)
    const atOnce = isParallel ? MOST_AT_ONCE : 1
    const results = await embedAll(batches, { embed, atOnce, replyBytes: sizes.replyBytes }).catch(
      (error) => {
        failing.abort()
        throw error
      },
    )
    // Removed from the list, so that each embedding is freed as soon as it is written.
    await take(eventsOf(results.splice(0)))
    return { terminated: true }
  }
}

interface Embedding {
  readonly embed: (batch: readonly string[]) => Promise<object>
  /** The most calls at once. */
  readonly atOnce: number
  readonly replyBytes: number
}

/** Returns the results of all batches, in their order. Begins no other batch once one has failed. */
async function embedAll(
  batches: readonly (readonly string[])[],
  { embed, atOnce, replyBytes }: Embedding,
): Promise<EmbeddingResult[]> {
  const results: EmbeddingResult[] = []
  let next = 0
  let bytes = 0
  const work = async (): Promise<void> => {
    while (next < batches.length) {
      const index = next++
      // Nothing else of a result is kept.
      const { embeddings, usage } = (await embed(batches[index]!)) as EmbeddingResult
      bytes += bytesOf(embeddings, replyBytes)
      if (bytes > replyBytes) throw replyTooLong(replyBytes)
      results[index] = { embeddings, usage }
    }
  }
  const workers = Array.from({ length: Math.min(atOnce, batches.length) }, work)
  await Promise.all(workers).finally(() => {
    next = batches.length
  })
  return results
}

/** What is read of a result of a model. */
interface EmbeddingResult {
  readonly embeddings?: unknown
  readonly usage?: unknown
}

/** Returns the bytes that embeddings take in memory. Stops once there are more than `most`. */
function bytesOf(embeddings: unknown, most: number): number {
  if (!Array.isArray(embeddings)) return 0
  let bytes = 0
  for (const embedding of embeddings) {
    bytes += NUMBER_BYTES
    // A list of numbers is short in memory, and long to walk.
    bytes += isNumbers(embedding) ? embedding.length * NUMBER_BYTES : lengthOf(embedding, most - bytes)
    if (bytes > most) break
  }
  return bytes
}

function isNumbers(embedding: unknown): embedding is readonly number[] {
  return Array.isArray(embedding) && typeof embedding[0] === 'number'
}

const failed = (error: unknown): never => {
  throw toProviderError(error)
}

function checkModel(model: AiSdkEmbeddingModel): void {
  if (typeof model?.doEmbed !== 'function') {
    throw new TypeError(
      'aiSdk: embeddingModel() returned no embedding model with doEmbed. Providers of the AI SDK make one from a name, for example openai.embedding(name).',
    )
  }
  if (VERSIONS.some((known) => known === model.specificationVersion)) return
  throw new ProviderError(
    'invalid-response',
    `The embedding model must have specification version ${VERSIONS.join(', ')}.`,
  )
}

/** The AI SDK embeds only texts. */
function textsOf({ input }: EmbeddingRequest): readonly string[] {
  const list = Array.isArray(input) ? input : [input]
  if (list.every((item) => typeof item === 'string')) return list
  throw unsupported('input', 'input must be text: this provider does not accept tokens.')
}

function optionsOf(request: EmbeddingRequest, parameters: EmbeddingsSettings['parameters']): ProviderOptions {
  const options: Record<string, ProviderOptions[string]> = {}
  for (const [field, value] of Object.entries(request)) {
    if (READ.has(field) || value === undefined || value === null) continue
    const translate = parameters.get(field)
    if (translate === undefined) throw unsupported(field, `${field} is not supported by this provider.`)
    for (const [provider, fields] of Object.entries(translate(value, request))) {
      options[provider] = { ...options[provider], ...fields }
    }
  }
  return options
}

function inBatches(values: readonly string[], limit: number): (readonly string[])[] {
  const size = Number.isFinite(limit) ? Math.max(1, Math.floor(limit)) : values.length
  const batches: (readonly string[])[] = []
  for (let start = 0; start < values.length; start += size) batches.push(values.slice(start, start + size))
  return batches
}

/** Combines all results into one list. Reports usage only if each result has it: an estimate is better than a part. */
function eventsOf(results: readonly EmbeddingResult[]): ProviderEvent[] {
  const data = results.flatMap(({ embeddings }) => {
    if (!Array.isArray(embeddings)) {
      throw new ProviderError('invalid-response', 'The result of the model has no embeddings.')
    }
    return embeddings.map((embedding: unknown) => ({ embedding }))
  })
  const events: ProviderEvent[] = [{ type: 'completion', completion: { data } }]
  const counts = results.map(({ usage }) => (isObject(usage) ? usage.tokens : undefined))
  if (counts.every(isCount)) {
    events.push({ type: 'usage', usage: { prompt: counts.reduce((sum, count) => sum + count, 0) } })
  }
  return events
}
