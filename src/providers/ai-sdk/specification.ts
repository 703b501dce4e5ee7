import type { JsonObject } from '../../protocol/json-values.js'

/** The specification versions of the AI SDK that the bridge speaks. */
export const VERSIONS = ['v2', 'v3', 'v4'] as const
export type SpecificationVersion = (typeof VERSIONS)[number]

/**
 * A language model of the AI SDK, as far as the bridge uses it: `LanguageModelV2`, `V3` and `V4` of `@ai-sdk/provider`
 * all fit. What it takes and gives is told apart at run time by `specificationVersion`.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: string
  /** Its name in the AI SDK, such as `anthropic.messages`. */
  readonly provider: string
  readonly modelId: string
  /** By media type, which addresses the provider opens itself. */
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls
  // Any function with one parameter can stand where the parameter is `never`, whatever the version's own type of it.
  doGenerate(options: never): PromiseLike<object>
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStreamOf<unknown> }>
}

/** An embedding model of the AI SDK, as far as the bridge uses it: `EmbeddingModelV2`, `V3` and `V4` all fit. */
export interface AiSdkEmbeddingModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined
  readonly supportsParallelCalls: PromiseLike<boolean> | boolean
  doEmbed(options: never): PromiseLike<object>
}

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

/** The part of a web `ReadableStream` that the bridge uses. */
export interface ReadableStreamOf<Part> {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Part | undefined }>
    cancel(reason?: unknown): Promise<void>
  }
}

/** Settings for a provider of the AI SDK in its own terms, by the provider's name. */
export type ProviderOptions = Readonly<Record<string, Record<string, unknown>>>

/** What a call of a model is given. The same in all versions but for what the comments say. */
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
  /** From v4 on. */
  reasoning?: string
  providerOptions?: ProviderOptions
}

export type PromptMessage =
  | { role: 'system'; content: string; providerOptions?: ProviderOptions }
  | { role: 'user' | 'assistant' | 'tool'; content: readonly PromptPart[] }

export type PromptPart = JsonObject & { type: string; providerOptions?: ProviderOptions }
