import type { ConversationSettings } from './settings.js'

/** A place up to which the provider may cache the prompt. */
export interface Cacheable {
  /** Whether everything up to and including this may be cached. */
  readonly cache: boolean
}

export interface TextPart extends Cacheable {
  readonly type: 'text'
  readonly text: string
  /** Whether a model says with it that it will not answer. */
  readonly isRefusal?: true
}

/** Where an image or a file is. This process never opens an address. */
export type MediaSource =
  | { readonly kind: 'inline'; readonly mediaType: string; readonly base64: string }
  /** A `data:` or `https:` address, as the client sent it. Not every provider can use any of them. */
  | { readonly kind: 'address'; readonly address: string }
  /** A file in the host's account at the provider. */
  | { readonly kind: 'file'; readonly id: string }

export interface MediaPart extends Cacheable {
  readonly type: 'media'
  /** Whether it was given as an image. The media type of an image is unknown if its source is a URL. */
  readonly image: boolean
  readonly source: MediaSource
  /** How closely the model looks at an image. */
  readonly detail?: string
  readonly filename?: string
  /** The request field that contains the source, for errors. */
  readonly param: string
}

export type Part = TextPart | MediaPart

export interface ToolCall {
  /** Empty if the client gave none. */
  readonly id: string
  readonly name: string
  readonly kind: 'function' | 'custom'
  /** The text of a JSON object, as far as the model wrote one. Any text for a custom tool. */
  readonly input: string
  /** Google's signature of the thought that led to the call. */
  readonly signature?: CallSignature
  /** Whether everything up to and including this may be cached. */
  readonly cache?: true
}

export interface CallSignature {
  readonly bytes: string
  readonly maker?: Maker
}

/** Who made something that nobody else can use. A provider gets it only if all members that are present fit. */
export interface Maker {
  /** The provider's name, as routes have it. */
  readonly provider?: string
  /** The digest of that name, which tells nobody the name itself. See `providerDigest`. */
  readonly providerDigest?: string
  /** Whether the model was Claude, whose thoughts every platform with Claude accepts. */
  readonly isClaude?: boolean
}

/** A piece of a thought that its provider can verify, or that only its provider can read. No other provider accepts it. */
export interface ThoughtPiece {
  readonly kind: 'text' | 'encrypted' | 'summary' | 'other'
  /** The type of a piece of another kind. */
  readonly otherType?: string
  /** In whose format it is. Undefined if the client does not say. */
  readonly format?: string | undefined
  readonly id?: string | undefined
  /** Pieces of one thought have the same. */
  readonly index?: string | number
  readonly text?: string
  readonly summary?: string
  readonly signature?: string
  readonly data?: string
}

/** What a model thought before an earlier reply. */
export interface Thought {
  /** In words, as far as they are known. Empty if they are not. */
  readonly text: string
  readonly pieces: readonly ThoughtPiece[]
  /** Undefined if the client does not say. */
  readonly maker?: Maker
}

export interface Instructions {
  readonly role: 'system' | 'developer'
  readonly content: readonly TextPart[]
}

export interface Question {
  readonly role: 'user'
  readonly content: readonly Part[]
}

/** An earlier reply of a model. */
export interface Answer {
  readonly role: 'assistant'
  readonly content: readonly TextPart[]
  readonly toolCalls: readonly ToolCall[]
  readonly thoughts: readonly Thought[]
}

export interface ToolResult {
  readonly role: 'tool'
  /** Empty if the client gave none. The result is then that of the next call. */
  readonly toolCallId: string
  readonly content: readonly Part[]
  readonly isError: boolean
}

/** What was said in a conversation at one time, in no API's words. */
export type Turn = Instructions | Question | Answer | ToolResult

/** A request in no API's words. */
export interface ConversationRequest {
  /** The provider's name of the model. */
  model: string
  turns: readonly Turn[]
  settings: ConversationSettings
}
