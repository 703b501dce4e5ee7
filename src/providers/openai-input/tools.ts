import type { ProviderRequest } from '../../contracts/providers.js'
import { hasCacheMark } from '../../conversation/read-chat-content.js'
import { unsupported } from '../../conversation/unsupported.js'
import { lacksProperties, ofTypeObject, withProperties } from '../../protocol/exact-data.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'

export interface FunctionTool {
  readonly name: string
  readonly description?: string
  /** A JSON schema whose `type` is `object`. */
  readonly parameters: JsonObject
  readonly strict: boolean
  readonly cache: boolean
}

/** A tool as the caller sent it, with its path for errors. */
export type InputTool =
  | { readonly kind: 'function'; readonly tool: FunctionTool }
  | { readonly kind: 'other'; readonly tool: JsonObject; readonly param: string }

export type InputToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/** Reads `tools`. Tools of other types than `function` are returned unchanged. */
export function readTools(request: ProviderRequest): InputTool[] {
  const { tools } = request
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw unsupported('tools', 'tools must be an array.')
  return tools.map((tool: unknown, index) => readTool(tool, `tools.${index}`))
}

function readTool(tool: unknown, param: string): InputTool {
  if (!isObject(tool)) throw unsupported(param, `${param} must be an object.`)
  const cache = hasCacheMark(tool)
  if (tool.type !== 'function') return { kind: 'other', tool, param: `${param}.type` }
  const definition = tool.function
  const name = isObject(definition) ? textOf(definition.name) : undefined
  if (!isObject(definition) || name === undefined) {
    throw unsupported(`${param}.function.name`, `${param}.function.name must be a string.`)
  }
  const description = textOf(definition.description)
  return {
    kind: 'function',
    tool: {
      name,
      ...(description !== undefined && { description }),
      parameters: readParameters(definition.parameters, `${param}.function.parameters`),
      strict: definition.strict === true,
      cache,
    },
  }
}

function readParameters(parameters: unknown, param: string): JsonObject {
  if (parameters === undefined || parameters === null) return { type: 'object', properties: {} }
  if (!isObject(parameters)) throw unsupported(param, `${param} must be a JSON schema.`)
  const typed = parameters.type === undefined ? ofTypeObject(parameters) : parameters
  return lacksProperties(typed) ? withProperties(typed) : typed
}

/** Reads `tool_choice`. */
export function readToolChoice(request: ProviderRequest): InputToolChoice | undefined {
  const choice = request.tool_choice
  if (choice === undefined || choice === null) return undefined
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  // Mistral's name for it.
  if (choice === 'any') return 'required'
  if (isObject(choice) && choice.type === 'function' && isObject(choice.function)) {
    const name = textOf(choice.function.name)
    if (name !== undefined) return { name }
  }
  throw unsupported('tool_choice', 'tool_choice must be "auto", "none", "required" or a named function.')
}
