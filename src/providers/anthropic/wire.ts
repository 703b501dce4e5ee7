import type { JsonObject } from '../../protocol/json-values.js'

/** The parts of the Messages API that our requests use. */
export interface NativeRequest {
  model: string
  max_tokens: unknown
  messages: readonly NativeTurn[]
  system?: readonly NativeBlock[]
  tools?: readonly JsonObject[]
  tool_choice?: JsonObject
  stop_sequences?: readonly string[]
  stream?: true
  thinking?: unknown
  output_config?: JsonObject
  metadata?: JsonObject
  [parameter: string]: unknown
}

export interface NativeTurn {
  role: 'user' | 'assistant'
  content: NativeBlock[]
}

export interface NativeBlock {
  type: string
  [field: string]: unknown
}
