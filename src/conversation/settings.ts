/** A JSON Schema, as its author wrote it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** What tools that the client runs have in common. */
export interface NamedTool {
  readonly name: string
  readonly description?: string
  /** Whether everything up to and including this may be cached. */
  readonly cache: boolean
}

/** A function that the client runs. */
export interface FunctionTool extends NamedTool {
  readonly kind: 'function'
  /** The schema of its arguments. Absent if it has none. */
  readonly parameters?: JsonSchema
  /** Whether the model must keep to the schema. Absent if the provider's default applies. */
  readonly strict?: boolean
}

/** A tool that the client runs, and that takes any text. */
export interface CustomTool extends NamedTool {
  readonly kind: 'custom'
  /** The rules for its text. */
  readonly grammar?: Grammar
}

export interface Grammar {
  readonly syntax: 'lark' | 'regex'
  readonly definition: string
}

/** A tool of one provider's own, which the host has allowed. */
export interface ProviderTool {
  readonly kind: 'provider'
  /** The tool as the client sent it. */
  readonly definition: Readonly<Record<string, unknown>>
}

export type Tool = FunctionTool | CustomTool | ProviderTool

export interface ToolReference {
  readonly kind: 'function' | 'custom'
  readonly name: string
}

/** Whether the model may or must call tools, or which. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | ToolReference
  | { readonly kind: 'allowed'; readonly mode: 'auto' | 'required'; readonly tools: readonly ToolReference[] }

/** The form of a reply that is not plain text. */
export type OutputFormat =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly schema: JsonSchema
      readonly name?: string
      readonly description?: string
      /** Whether the model must keep to the schema. Absent if the provider's default applies. */
      readonly strict?: boolean
    }

/** How much a model is to think before it replies: in a word, or in tokens. */
export type Reasoning = {
  /** The request field that asked for it, for errors. */
  readonly param: string
} & (
  | {
      /** A word such as `low` or `high`. `none` turns thinking off. */
      readonly effort: string
      readonly budget?: undefined
    }
  | { readonly effort?: undefined; readonly budget: number }
)

export interface OutputBound {
  readonly tokens: number
  /** The request field that states it, for errors. */
  readonly param: 'max_tokens' | 'max_completion_tokens'
}

/** What a client asks for besides the conversation itself. A provider's default applies for whatever is absent. */
export interface ConversationSettings {
  /** The most output tokens of a choice. */
  readonly bound?: OutputBound
  /** How many replies to give. */
  readonly choices?: number
  /** The texts at which a reply ends. */
  readonly stop: readonly string[]
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  /** The seed of the sampler. A `bigint` if a number cannot represent it. */
  readonly seed?: number | bigint
  /** Whether to give the log probability of each token. */
  readonly logprobs?: boolean
  /** For how many alternatives of each token to give it too. */
  readonly topLogprobs?: number
  readonly tools: readonly Tool[]
  /**
   * Whether the client has the older form of tools, `functions`. It then takes one call in each reply. `tools` contains
   * the functions.
   */
  readonly olderTools?: true
  readonly toolChoice?: ToolChoice
  /** Whether the model may call several tools at a time. */
  readonly parallelCalls?: boolean
  /** Absent for plain text. */
  readonly format?: OutputFormat
  readonly reasoning?: Reasoning
  /** How long a reply should be: `low`, `medium` or `high`. */
  readonly verbosity?: string
  /** The label of the end user. */
  readonly user?: string
  /** The label of the end user for a provider's own checks. */
  readonly safetyIdentifier?: string
  /** Labels of the call. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Prompts with the same key are likely to begin alike. */
  readonly cacheKey?: string
  /** How long the provider keeps the prompt in its cache: `in_memory`, `in-memory` or `24h`. */
  readonly cacheRetention?: string
  /** Whether the whole prompt may be cached. */
  readonly cache?: true
  /**
   * All other fields, as JSON under the names that chats have for them: settings that only some servers know, such as
   * `min_p`, and those that the host has allowed.
   */
  readonly others: Readonly<Record<string, unknown>>
}
