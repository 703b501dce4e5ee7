import type { JsonObject } from '../../protocol/json-values.js'

/** The specification versions of the AI SDK that the adapter supports. */
export const VERSIONS = ['v2', 'v3', 'v4'] as const
export type SpecificationVersion = (typeof VERSIONS)[number]

/**
 * A language model of the AI SDK, as far as the adapter uses it: `LanguageModelV2`, `V3` and `V4` of
 * `@ai-sdk/provider` all fit. At run time, `specificationVersion` tells their inputs and outputs apart.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: string
  /** The name of its provider in the AI SDK, such as `anthropic.messages`. */
  readonly provider: string
  readonly modelId: string
  /** The URLs that the provider opens itself, by media type. */
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls
  // `never` accepts a function with any parameter, so the types of all versions fit.
  doGenerate(options: never): PromiseLike<object>
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStreamOf<unknown> }>
}

/** An embedding model of the AI SDK, as far as the adapter uses it: `EmbeddingModelV2`, `V3` and `V4` all fit. */
export interface AiSdkEmbeddingModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined
  readonly supportsParallelCalls: PromiseLike<boolean> | boolean
  doEmbed(options: never): PromiseLike<object>
}

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

/** The part of a web `ReadableStream` that the adapter uses. */
export interface ReadableStreamOf<Part> {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Part | undefined }>
    cancel(reason?: unknown): Promise<void>
  }
}

/** Options of the AI SDK's providers in their own terms, by the provider's name. */
export type ProviderOptions = Readonly<Record<string, Record<string, unknown>>>

/** The options of a model call. They are the same in all versions, except as noted. */
export interface CallOptions {
  prompt: readonly PromptMessage[]
  abortSignal: AbortSignal
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  presencePenalty?: number
  frequencyPenalty?: number
  seed?: number
  stopSequences?: readonly string[]
  responseFormat?: JsonObject
  tools?: readonly JsonObject[]
  toolChoice?: JsonObject
  /** Since v4. */
  reasoning?: string
  providerOptions?: ProviderOptions
}

export type PromptMessage =
  | { role: 'system'; content: string; providerOptions?: ProviderOptions }
  | { role: 'user' | 'assistant' | 'tool'; content: readonly PromptPart[] }

export type PromptPart = JsonObject & { type: string; providerOptions?: ProviderOptions }
