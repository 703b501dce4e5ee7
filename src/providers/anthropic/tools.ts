import type { ProviderRequest } from '../../contracts/providers.js'
import { unsupported } from '../../conversation/unsupported.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { type InputTool, type InputToolChoice, readToolChoice, readTools } from '../openai-input/tools.js'

/**
 * Returns `tools` and `tool_choice` for the Messages API.
 *
 * Tools of the provider's own types (`web_search_20250305`, …) are passed on unchanged. The router decides whether a
 * caller may use them: it accepts only those that the catalogue names.
 */
export function toToolParameters(request: ProviderRequest): {
  tools?: JsonObject[]
  tool_choice?: JsonObject
} {
  const tools = readTools(request).map(toTool)
  const choice = readToolChoice(request)
  const single = readParallel(request) === false
  if (tools.length === 0) {
    if (choice !== undefined && choice !== 'auto' && choice !== 'none') {
      throw unsupported('tool_choice', 'tool_choice asks for a tool, but there are no tools.')
    }
    return {}
  }
  return { tools, ...((choice !== undefined || single) && { tool_choice: toChoice(choice, single) }) }
}

function toTool(input: InputTool): JsonObject {
  if (input.kind === 'other') {
    if (typeof input.tool.type === 'string' && input.tool.type !== 'custom') return input.tool
    throw unsupported(input.param, `${input.param}: tools of this type are not supported by this provider.`)
  }
  const { name, description, parameters, strict, cache } = input.tool
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: parameters,
    ...(strict && { strict }),
    ...(cache && { cache_control: { type: 'ephemeral' } }),
  }
}

function toChoice(choice: InputToolChoice | undefined, single: boolean): JsonObject {
  if (choice === 'none') return { type: 'none' }
  const parallel = single ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined || choice === 'auto') return { type: 'auto', ...parallel }
  if (choice === 'required') return { type: 'any', ...parallel }
  return { type: 'tool', name: choice.name, ...parallel }
}

function readParallel(request: ProviderRequest): boolean | undefined {
  const value = request.parallel_tool_calls
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean') return value
  throw unsupported('parallel_tool_calls', 'parallel_tool_calls must be a boolean.')
}
