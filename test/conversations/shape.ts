/** An API that a client speaks. */
export const APIS = ['chat', 'responses', 'messages'] as const
export type Api = (typeof APIS)[number]

/** An API that a provider speaks. */
export type Wire = Api | 'gemini'

export const FORMS = ['stream', 'body'] as const
export type Form = (typeof FORMS)[number]

export type Json = Readonly<Record<string, unknown>>

/** The providers to which each conversation goes. Those with `sdk` in their names are models of the AI SDK. */
export const TARGETS = [
  'chat',
  'responses',
  'messages',
  'sdk-chat',
  'sdk-responses',
  'sdk-messages',
  'deepseek',
  'groq',
  'mistral',
  'gemini-chat',
  'sdk-gemini',
] as const
export type Target = (typeof TARGETS)[number]

/** One conversation, in no API's words. Every text in it is different, so that it is found again in any order. */
export interface Shape {
  /** A part of the names of models: letters, digits and hyphens. */
  readonly name: string
  /** Who sends it, or where it was reported. */
  readonly from?: string
  readonly turns: readonly Turn[]
  readonly tools?: readonly Tool[]
  readonly settings?: Settings
  /** Members of the request that only these APIs have. */
  readonly members?: Partial<Record<Api, Json>>
  /** What the model says. `HELLO` by default. */
  readonly says?: Said
  /** The form in which a provider says it, if that is an odd one. The shape then goes to no other kind of provider. */
  readonly oddly?: Partial<Record<Api, OddReply>>
  /** The status that the client gets, if the provider fails in this odd way. Nothing is charged then. */
  readonly fails?: number
  /** The next turn. The client sends back what its library read, with a result for each call. */
  readonly next?: Next
  /** The only APIs whose clients say this. */
  readonly apis?: readonly Api[]
  /** Whether its settings are not looked at. */
  readonly unjudged?: true
  /** What does not come through as it is, and where. Everything else must. */
  readonly except?: readonly Exception[]
}

export interface Next {
  readonly user?: string
  /** Whether another provider answers. */
  readonly elsewhere?: boolean
}

export interface Exception {
  readonly api?: Api | readonly Api[]
  readonly to?: Target | readonly Target[]
  readonly why: string
  /** The router refuses the request with 400, and names this parameter. */
  readonly refused?: string
  /** It is the provider that refuses it so, by the name of the parameter. */
  readonly there?: true
  /** Texts, or names of settings, that the provider does not get. */
  readonly without?: readonly string[]
  /** Settings that depend on more than a table can say, and are not looked at. */
  readonly either?: readonly (keyof Settings)[]
  /** Nothing is sent there: a package between the router and the provider reads it in a way of its own. */
  readonly skipped?: true
}

export type Turn =
  | { readonly system: string; readonly developer?: true }
  | { readonly user: string | readonly Part[] }
  | { readonly assistant: readonly Piece[] }
  | { readonly results: readonly Result[] }
  /** Items or messages that only some APIs have. The others say nothing in their place. */
  | {
      readonly native: Partial<Record<Api, readonly Json[]>>
      /** What they say of the model's, in no API's words. */
      readonly assistant?: readonly Piece[]
      /** Texts and tools in them that every provider must get. */
      readonly means?: readonly string[]
      readonly tools?: readonly string[]
    }

export type Part = string | Image | Document
export interface Image {
  readonly image: string
  readonly detail?: 'low' | 'high'
}
export interface Document {
  readonly pdf: string
  readonly name: string
}

export type Piece = string | Thought | Call | { readonly refusal: string }

/** A thought that the client got from somebody else than this router. */
export interface Thought {
  readonly thought: string
  /** The signature or the encrypted text of its provider. */
  readonly sealed?: string
  /** Whether the provider gave it out itself, signed, and so must get it back. */
  readonly mustReturn?: boolean
}

export interface Call {
  readonly call: string
  readonly id: string
  /** A JSON object, or a plain text for a custom tool. No two calls of a conversation have the same. */
  readonly input: string
  readonly custom?: true
  readonly namespace?: string
  /** The older form of a chat, which has no id. */
  readonly legacy?: true
}

export interface Result {
  readonly of: string
  readonly says: string | readonly Part[]
  readonly failed?: true
  readonly custom?: true
  readonly legacy?: string
}

export interface Tool {
  readonly name: string
  readonly description?: string
  /** The text of a JSON Schema, so that digits survive. */
  readonly schema?: string
  readonly strict?: boolean
  readonly custom?: { readonly grammar?: string }
  readonly namespace?: string
  readonly legacy?: true
}

export interface Settings {
  readonly bound?: number
  readonly temperature?: number
  readonly topP?: number
  readonly stop?: readonly string[]
  /** As text, since it may be beyond 2^53. */
  readonly seed?: string
  readonly choices?: number
  readonly logprobs?: number
  readonly thinking?: 'off' | 'low' | 'medium' | 'high' | number
  /** The text of a JSON Schema. */
  readonly schema?: string
  readonly jsonObject?: true
  readonly toolChoice?: 'auto' | 'none' | 'any' | { readonly tool: string }
  readonly parallel?: boolean
  readonly user?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly cacheKey?: string
  readonly verbosity?: 'low' | 'high'
}

/** What a model says in one reply. */
export interface Said {
  readonly thought?: string
  /** Whether its provider signs or encrypts the thought, if its API has such a thing. */
  readonly sealed?: true
  readonly text?: string
  /** The same text by its messages, if it has several. */
  readonly texts?: readonly string[]
  readonly refusal?: string
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: string }[]
  readonly ends?: 'length' | 'filter' | { readonly at: string }
  readonly annotations?: readonly Json[]
}

/** The events of a stream and the body with which a provider says it. */
export interface OddReply {
  readonly stream?: readonly Json[]
  readonly body?: Json
}

export const HELLO: Said = { text: 'Hello from the model' }
export const USAGE = { input: 11, output: 7 }
