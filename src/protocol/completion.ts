/** A tool call of a finished message. `arguments` is JSON text. */
export interface ToolCall {
  id: string
  type: string
  function: { name: string; arguments: string }
  [field: string]: unknown
}

export interface CompletionMessage {
  role: 'assistant'
  content: string | null
  tool_calls?: ToolCall[]
  reasoning?: string
  reasoning_content?: string
  [field: string]: unknown
}

export interface CompletionChoice {
  index: number
  message: CompletionMessage
  finish_reason: string | null
  [field: string]: unknown
}

/** A reply in one body, as an adapter hands it over: shaped like OpenAI's, not yet normalised. */
export interface ChatCompletion {
  choices: readonly unknown[]
  [field: string]: unknown
}
