/** One text, several texts, the tokens of one text, or the tokens of several texts. */
export type EmbeddingInput = string | readonly string[] | readonly number[] | readonly (readonly number[])[]

/** An embeddings request in the form that a provider receives: without the router's own fields. */
export interface EmbeddingRequest {
  model: string
  input: EmbeddingInput
  dimensions?: number
  user?: string
  [field: string]: unknown
}

/** The reply of an adapter that serves embeddings. */
export interface EmbeddingList {
  /** Each `embedding` is a list of numbers, or base64 of 32-bit floats, little-endian. `index` is the position by default. */
  readonly data: readonly { readonly embedding: unknown; readonly index?: unknown }[]
  readonly [field: string]: unknown
}
