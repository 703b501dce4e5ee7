/** A message, without members that the router does not know. */
export interface ChatMessage {
  role: string
  content?: unknown
  [field: string]: unknown
}

/** A chat completion request in the form that a provider receives: without the router's own fields. */
export interface ChatRequest {
  model: string
  messages: ChatMessage[]
  stream?: boolean | null
  [field: string]: unknown
}
