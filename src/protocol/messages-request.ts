/** A request of Anthropic's Messages API in the form that a provider receives: without the router's own fields. */
export interface MessagesRequest {
  model: string
  /** Absent only if tokens are counted. */
  max_tokens?: number
  messages: readonly Record<string, unknown>[]
  /** The allowed names of the `anthropic-beta` header. Not a field of the body. */
  betas?: readonly string[]
  [field: string]: unknown
}
