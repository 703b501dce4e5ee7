import { CACHE_MARK } from '../../conversation/chat-fields.js'
import type { ConversationSettings, Tool } from '../../conversation/settings.js'
import { unsupported } from '../../conversation/unsupported.js'
import { isText, type JsonObject } from '../../protocol/json-values.js'
import { argumentsSchema, type SimpleChoice, simpleChoice } from '../tool-settings.js'

/**
 * Returns `tools` and `tool_choice` for the Messages API.
 *
 * Tools of the provider's own types (`web_search_20250305`, …) are passed on unchanged. The router decides whether a
 * caller may use them: it accepts only those that the catalogue names.
 */
export function toToolParameters({ parallelCalls, toolChoice, tools }: ConversationSettings): {
  tools?: JsonObject[]
  tool_choice?: JsonObject
} {
  const written = tools.map((tool, index) => toTool(tool, `tools.${index}.type`))
  const choice = simpleChoice(toolChoice, tools)
  if (tools.length === 0) return {}
  const single = parallelCalls === false
  return {
    tools: written,
    ...((choice !== undefined || single) && { tool_choice: toChoice(choice, single) }),
  }
}

function toTool(tool: Tool, param: string): JsonObject {
  switch (tool.kind) {
    case 'provider':
      if (isText(tool.definition.type) && tool.definition.type !== 'custom') return tool.definition
      throw notTaken(param)
    case 'custom':
      throw notTaken(param)
    case 'function': {
      const { name, description, strict, cache } = tool
      return {
        name,
        ...(description !== undefined && { description }),
        input_schema: argumentsSchema(tool),
        ...(strict && { strict }),
        ...(cache && { cache_control: CACHE_MARK }),
      }
    }
  }
}

function notTaken(param: string): Error {
  return unsupported(param, `${param}: tools of this type are not supported by this provider.`)
}

function toChoice(choice: SimpleChoice | undefined, single: boolean): JsonObject {
  if (choice === 'none') return { type: 'none' }
  const parallel = single ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined || choice === 'auto') return { type: 'auto', ...parallel }
  if (choice === 'required') return { type: 'any', ...parallel }
  return { type: 'tool', name: choice.name, ...parallel }
}
