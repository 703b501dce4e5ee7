import { isObject } from '../../protocol/json-values.js'
import type { MessagesRequest } from '../../protocol/messages-request.js'

/** The fields of this API that a list must name, each with the names that a list may use for it. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  temperature: ['temperature'],
  top_p: ['top_p'],
  top_k: ['top_k'],
  stop_sequences: ['stop', 'stop_sequences'],
  tools: ['tools'],
  tool_choice: ['tool_choice'],
  'tool_choice.disable_parallel_tool_use': ['parallel_tool_calls'],
  thinking: ['thinking', 'reasoning', 'reasoning_effort'],
  'output_config.format': ['response_format', 'output_config'],
}

/**
 * Returns the fields of a request that have an effect but are not in a list of supported parameters. Such lists use the
 * names of chat fields. Omits the effort, and thinking that the model decides about: they are not sent to routes that
 * do not list them.
 */
export function unsupportedFields(request: MessagesRequest, supported: readonly string[]): string[] {
  const { output_config: output, thinking, tool_choice: choice } = request
  const has = (name: string): boolean => {
    switch (name) {
      case 'tool_choice':
        return isObject(choice) && choice.type !== 'auto'
      case 'tool_choice.disable_parallel_tool_use':
        return isObject(choice) && choice.disable_parallel_tool_use === true
      case 'thinking':
        return isObject(thinking) && thinking.type === 'enabled'
      case 'output_config.format':
        return isObject(output) && output.format !== undefined
      case 'top_p':
        return request.top_p !== undefined && request.top_p !== 1
      default:
        return request[name] !== undefined
    }
  }
  return Object.keys(FIELDS).filter(
    (name) => has(name) && !FIELDS[name]!.some((listed) => supported.includes(listed)),
  )
}
