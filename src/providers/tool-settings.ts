import type { FunctionTool, JsonSchema, Tool, ToolChoice, ToolReference } from '../conversation/settings.js'
import { unsupported } from '../conversation/unsupported.js'
import { lacksProperties, ofTypeObject, withProperties } from '../protocol/exact-data.js'

/** The choices of an API that cannot choose among some of the tools. */
export type SimpleChoice = Extract<ToolChoice, string> | ToolReference

/** Returns the schema of a function's arguments for an API that needs one of objects with properties. */
export function argumentsSchema({ parameters }: FunctionTool): JsonSchema {
  if (parameters === undefined) return { type: 'object', properties: {} }
  const typed = parameters.type === undefined ? ofTypeObject(parameters) : parameters
  return lacksProperties(typed) ? withProperties(typed) : typed
}

/** Returns the choice for such an API, which takes none without tools. Throws if it cannot express the choice. */
export function simpleChoice(
  choice: ToolChoice | undefined,
  tools: readonly Tool[],
): SimpleChoice | undefined {
  if (choice === undefined) return undefined
  if (typeof choice !== 'string' && choice.kind !== 'function') {
    throw unsupported('tool_choice', 'tool_choice must be "auto", "none", "required" or a named function.')
  }
  if (tools.length > 0) return choice
  if (choice === 'auto' || choice === 'none') return undefined
  throw unsupported('tool_choice', 'tool_choice asks for a tool, but there are no tools.')
}
