import { createHash } from 'node:crypto'
import { lacksProperties, withProperties } from '../../protocol/exact-data.js'
import { isObject, isText, type JsonObject } from '../../protocol/json-values.js'

/** The most characters of a label at OpenAI, which refuses a request with a longer one. */
const MOST_LABEL_CHARS = 64
const LABELS = ['user', 'safety_identifier', 'prompt_cache_key'] as const
/** Fields that OpenAI refuses without tools. */
const OF_TOOLS = ['tool_choice', 'parallel_tool_calls'] as const

/**
 * Returns the fields of a request, of a chat or of the Responses API, that must change so that OpenAI and providers as
 * strict take it. Clients of other APIs send what those accept: long labels of users, settings of tools without tools,
 * and tools without properties. A field to omit is undefined.
 */
export function fittingFields(request: JsonObject): JsonObject {
  const changed: JsonObject = {}
  for (const name of LABELS) {
    const label = request[name]
    if (isText(label) && label.length > MOST_LABEL_CHARS) changed[name] = digestOf(label)
  }
  const { functions, tools } = request
  if (Array.isArray(tools) && tools.length > 0) {
    const fitting = tools.map(fittingTool)
    if (fitting.some((tool, index) => tool !== tools[index])) changed.tools = fitting
  } else if (functions === undefined) {
    for (const name of OF_TOOLS) if (request[name] !== undefined) changed[name] = undefined
  }
  return changed
}

/** A digest has 64 characters. The same user has the same one in every request. */
function digestOf(label: string): string {
  return createHash('sha256').update(label).digest('hex')
}

/** Returns a tool whose schema has properties. A chat keeps it in `function`, the Responses API in the tool itself. */
function fittingTool(tool: unknown): unknown {
  if (!isObject(tool)) return tool
  if (isObject(tool.function)) {
    const fitting = withSchema(tool.function)
    return fitting === tool.function ? tool : { ...tool, function: fitting }
  }
  return tool.type === 'function' ? withSchema(tool) : tool
}

function withSchema(definition: JsonObject): JsonObject {
  const { parameters } = definition
  if (!lacksProperties(parameters)) return definition
  return { ...definition, parameters: withProperties(parameters) }
}
