import type { JsonObject } from '../../../protocol/json-values.js'
import { flatName, TOOL_SEARCH } from './tool-names.js'

export interface PlainItems {
  readonly items: readonly JsonObject[]
  /** Tools that the client has found by searches. The model can call them from then on. */
  readonly found: readonly JsonObject[]
}

/**
 * Returns checked items with calls that every provider knows: without namespaces, and with tool searches as function
 * calls.
 */
export function toPlainItems(items: readonly JsonObject[]): PlainItems {
  const found: JsonObject[] = []
  return { items: items.map((item) => toPlainItem(item, found)), found }
}

function toPlainItem(item: JsonObject, found: JsonObject[]): JsonObject {
  const { call_id: id, type } = item
  switch (type) {
    case 'function_call':
    case 'custom_tool_call': {
      if (item.namespace === undefined) return item
      const { namespace, ...plain } = item
      plain.name = flatName(namespace as string, item.name as string)
      return plain
    }
    case 'tool_search_call': {
      const { arguments: given } = item
      const args = typeof given === 'string' ? given : JSON.stringify(given)
      return { type: 'function_call', call_id: id, name: TOOL_SEARCH, arguments: args }
    }
    case 'tool_search_output': {
      const tools = item.tools as readonly JsonObject[]
      for (const tool of tools) found.push(tool)
      return { type: 'function_call_output', call_id: id, output: describeFound(tools) }
    }
    default:
      return item
  }
}

/** Returns the result of a search. The tools themselves are sent with the tools of the request. */
function describeFound(tools: readonly JsonObject[]): string {
  const names = tools.flatMap(({ name, tools: inner, type }) =>
    type === 'namespace'
      ? (inner as readonly JsonObject[]).map((tool) => flatName(name as string, tool.name as string))
      : [type === 'tool_search' ? TOOL_SEARCH : (name as string)],
  )
  return names.length === 0 ? 'No tool was found.' : `These tools can be called now: ${names.join(', ')}`
}
