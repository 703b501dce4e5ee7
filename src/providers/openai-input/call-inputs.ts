import type { ToolCall } from '../../conversation/conversation.js'
import { readArguments } from '../../protocol/call-arguments.js'
import type { JsonObject } from '../../protocol/json-values.js'

/** Returns the input of a call as an object. Text that is not a JSON object becomes a member of one. */
export function inputOf({ input, kind }: ToolCall): JsonObject {
  return kind === 'custom' ? { input } : readArguments(input)
}
