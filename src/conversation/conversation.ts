/** A place up to which the provider may cache the prompt. */
interface Cacheable {
  /** Whether everything up to and including this may be cached. */
  readonly cache: boolean
}

export interface TextPart extends Cacheable {
  readonly type: 'text'
  readonly text: string
  /** Whether a model says with it that it will not answer. */
  readonly isRefusal?: true
}

/** The source of an image or a file: inline data, or a URL that the provider may open. This process never opens it. */
export type MediaSource =
  | { readonly kind: 'inline'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'url'; readonly url: string }

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
  readonly signature?: string
}

/**
 * A piece of a thought of an earlier reply that its provider can verify, or that only its provider can read. No other
 * provider accepts it.
 */
export interface ThoughtPiece {
  readonly kind: 'text' | 'encrypted' | 'other'
  /** Who made it. Undefined if the client does not say. */
  readonly format?: string | undefined
  readonly id?: string | undefined
  /** Pieces of one thought have the same. */
  readonly index?: string | number
  readonly text?: string
  readonly signature?: string
  readonly data?: string
}

interface Said {
  /** The message of the request, for errors. */
  readonly param: string
}

export interface Instructions extends Said {
  readonly role: 'system' | 'developer'
  readonly content: readonly TextPart[]
}

export interface Question extends Said {
  readonly role: 'user'
  readonly content: readonly Part[]
}

/** An earlier reply of a model. */
export interface Answer extends Said {
  readonly role: 'assistant'
  readonly content: readonly TextPart[]
  readonly toolCalls: readonly ToolCall[]
  /** The text of its reasoning. */
  readonly reasoning?: string
  readonly thoughts: readonly ThoughtPiece[]
}

export interface ToolResult extends Said {
  readonly role: 'tool'
  /** Empty if the client gave none. The result is then that of the next call. */
  readonly toolCallId: string
  readonly content: readonly Part[]
  readonly isError: boolean
}

/** What was said in a conversation at one time, in no API's words. */
export type Turn = Instructions | Question | Answer | ToolResult
