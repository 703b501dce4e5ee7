import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider'
import type { LanguageModelV2, LanguageModelV2CallOptions } from 'provider2'
import type { LanguageModelV4, LanguageModelV4CallOptions } from 'provider4'
import type { ProviderEvent } from '../../../src/contracts/index.js'
import { type AiSdkLanguageModel, type AiSdkSettings, aiSdk } from '../../../src/providers/ai-sdk/index.js'
import { type CallOptions, runCall } from '../openai-compatible/run-call.js'

export type Version = 'v2' | 'v3' | 'v4'
export type ModelCallOptions = LanguageModelV2CallOptions &
  LanguageModelV3CallOptions &
  LanguageModelV4CallOptions

export interface FakeModel {
  readonly version?: Version
  readonly provider?: string
  readonly supportedUrls?: Record<string, RegExp[]>
  /** The parts that `doStream` streams. An `Error` among them fails the stream. */
  readonly parts?: readonly unknown[]
  /** The result of `doGenerate`. */
  readonly result?: object
  readonly generate?: (options: ModelCallOptions) => PromiseLike<object>
  readonly stream?: (options: ModelCallOptions) => PromiseLike<{ stream: ReadableStream<unknown> }>
}

/** A model of any version, and the options it was called with. */
export function fakeModel(fake: FakeModel = {}): AiSdkLanguageModel & { calls: ModelCallOptions[] } {
  const calls: ModelCallOptions[] = []
  return {
    specificationVersion: fake.version ?? 'v3',
    provider: fake.provider ?? 'fake.chat',
    modelId: 'fake',
    supportedUrls: fake.supportedUrls ?? {},
    calls,
    async doGenerate(options: ModelCallOptions) {
      calls.push(options)
      return fake.generate?.(options) ?? fake.result ?? { content: [] }
    },
    async doStream(options: ModelCallOptions) {
      calls.push(options)
      return fake.stream?.(options) ?? { stream: streamOf(fake.parts ?? []) }
    },
  }
}

export function streamOf(parts: readonly unknown[]): ReadableStream<unknown> {
  const left = [...parts]
  return new ReadableStream({
    pull(controller) {
      const part = left.shift()
      if (part === undefined) controller.close()
      else if (part instanceof Error) controller.error(part)
      else controller.enqueue(part)
    },
  })
}

export const runModel = (
  model: AiSdkLanguageModel,
  call: CallOptions = {},
  settings: Partial<AiSdkSettings> = {},
) => runCall(aiSdk({ model: () => model, ...settings }), call)

/** Runs a request and returns the options that the model was called with. */
export async function optionsFor(
  request: object,
  fake: FakeModel = {},
  settings: Partial<AiSdkSettings> = {},
) {
  const model = fakeModel(fake)
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...request }
  const { error } = await runModel(model, { request: body, stream: false }, settings)
  const { abortSignal, ...options }: Partial<ModelCallOptions> = model.calls[0] ?? {}
  return { options, error, called: model.calls.length > 0 }
}

/** The deltas of each event, without what they all have. */
export const deltasOf = (events: readonly ProviderEvent[]): readonly (readonly object[])[] =>
  events.flatMap((event) => {
    if (event.type !== 'deltas') return []
    return [event.deltas.map(({ choice: _, ...delta }) => delta)]
  })

export const usageOf = (events: readonly ProviderEvent[]) =>
  events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))

/** The models of all three versions fit. If one no longer does, this file does not compile. */
export const fits = (model: LanguageModelV2 | LanguageModelV3 | LanguageModelV4): AiSdkLanguageModel => model
