import { CompatError } from '../../../base/errors.js'
import { functionForCustom } from '../../../conversation/custom-tools.js'
import { readFunction, readGrammar, readSchema } from '../../../conversation/read-fields.js'
import type { FunctionTool, OutputFormat, ToolChoice, ToolReference } from '../../../conversation/settings.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import {
  asItCame,
  boolean,
  data,
  listOf,
  type Member,
  membersOf,
  needing,
  OMITTED,
  objectOf,
  omitted,
  oneOf,
  type RequestReading,
  text,
  toolName,
} from '../../../protocol/request-fields/reading.js'
import { cleanLabel } from '../../../protocol/text.js'
import { flatName, TOOL_SEARCH } from './tool-names.js'

/** The item that represents a call of a tool. */
export interface CalledTool {
  readonly item: 'function_call' | 'custom_tool_call' | 'tool_search_call'
  readonly name: string
  readonly namespace: string | undefined
}

/** The tools of a request in all formats. */
export interface SpelledTools {
  /** For a provider of this API: functions and custom tools, without namespaces. */
  readonly flat: readonly JsonObject[]
  /** For all other providers: functions. */
  readonly functions: readonly FunctionTool[]
  /** By the names that providers see. */
  readonly called: ReadonlyMap<string, CalledTool>
}

const MAX_TOOLS = 1_024
const SHOWN_CHARS = 64

const functionTool = needing(['name'], {
  type: asItCame,
  name: toolName,
  description: text,
  parameters: data,
  strict: boolean,
  // Ignored: all tools are sent at once.
  defer_loading: omitted,
})
const grammar = needing(['type'], {
  type: oneOf('text', 'grammar'),
  syntax: oneOf('lark', 'regex'),
  definition: text,
})
const customTool = needing(['name'], {
  type: asItCame,
  name: toolName,
  description: text,
  format: grammar,
  defer_loading: omitted,
})
const searchTool = needing([], { type: asItCame, execution: asItCame, description: text, parameters: data })

const inNamespace: Member = (value, place, reading) => {
  const read = isObject(value) ? NAMED_TOOLS.get(value.type) : undefined
  if (read !== undefined) return read(value, place, reading)
  reading.faults.add(`${place}.type`, 'must be function or custom')
  return OMITTED
}
const namespace = needing(['name', 'tools'], {
  type: asItCame,
  name: toolName,
  description: text,
  tools: listOf(inNamespace, MAX_TOOLS, 'tools'),
})

const NAMED_TOOLS: ReadonlyMap<unknown, Member> = new Map([
  ['function', functionTool],
  ['custom', customTool],
])

/**
 * Tools that run at the provider and that programs offer in every request, needed or not. A request that has other
 * tools, and does not choose one of these, works without them.
 */
const DISPENSABLE: ReadonlySet<unknown> = new Set([
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'tool_search',
])

/** Whether the client runs a tool itself. */
function isClients({ execution, type }: JsonObject): boolean {
  if (type === 'tool_search') return execution === 'client'
  return type === 'namespace' || NAMED_TOOLS.has(type)
}

function readTool(canDispense: boolean): Member {
  return (value, place, reading) => {
    const given = isObject(value) ? value : {}
    const { type } = given
    if (isClients(given)) {
      const read = NAMED_TOOLS.get(type) ?? (type === 'namespace' ? namespace : searchTool)
      return read(value, place, reading)
    }
    if (canDispense && DISPENSABLE.has(type)) {
      reading.leaveOut('tools', type as string)
      return OMITTED
    }
    const named = typeof type === 'string' ? `tools.${cleanLabel(type, SHOWN_CHARS)}` : `${place}.type`
    throw new CompatError(
      'unsupported_parameter',
      `${named} is not accepted. Only tools that the client runs are, of the types function, custom and namespace.`,
      { param: named },
    )
  }
}

const tools = listOf(readTool(false), MAX_TOOLS, 'tools')
const toolsBesideOthers = listOf(readTool(true), MAX_TOOLS, 'tools')

/**
 * Reads the tools that the client runs itself. Omits a provider's web search or tool search if there are other tools.
 * Throws a 400 for any other tool that a provider would run and bill separately.
 */
export function readTools(value: unknown, reading: RequestReading): readonly JsonObject[] {
  if (value === undefined || value === null) return []
  const hasOwn = Array.isArray(value) && value.some((tool) => isObject(tool) && isClients(tool))
  return (hasOwn ? toolsBesideOthers : tools)(value, 'tools', reading) as readonly JsonObject[]
}

/**
 * Returns checked tools in all formats. Throws a 400 if there are too many.
 *
 * @param found checked tools that the client has found by searches, or added later
 */
export function spellTools(given: readonly JsonObject[], found: readonly JsonObject[]): SpelledTools {
  const flat = new Map<string, JsonObject>()
  const called = new Map<string, CalledTool>()
  const add = (tool: JsonObject, within: string | undefined) => {
    const { type } = tool
    const name = type === 'tool_search' ? TOOL_SEARCH : (tool.name as string)
    const sent = flatName(within, name)
    called.set(sent, { item: CALL_ITEMS.get(type) ?? 'function_call', name, namespace: within })
    flat.set(sent, type === 'tool_search' ? searchFunction(tool) : Object.assign({}, tool, { name: sent }))
  }
  for (const tool of [...given, ...found]) {
    if (tool.type !== 'namespace') add(tool, undefined)
    else for (const inner of tool.tools as readonly JsonObject[]) add(inner, tool.name as string)
  }
  if (flat.size > MAX_TOOLS) {
    const message = `tools must have at most ${MAX_TOOLS.toLocaleString('en')} tools.`
    throw new CompatError('invalid_request', message, {
      param: 'tools',
      details: [{ param: 'tools', message }],
    })
  }
  const functions = [...flat].map(([name, tool]) => toFunction(name, tool))
  return { flat: [...flat.values()], functions, called }
}

const CALL_ITEMS: ReadonlyMap<unknown, CalledTool['item']> = new Map([
  ['custom', 'custom_tool_call'],
  ['tool_search', 'tool_search_call'],
])

function searchFunction({ description, parameters }: JsonObject): JsonObject {
  const tool: JsonObject = { type: 'function', name: TOOL_SEARCH }
  if (description !== undefined) tool.description = description
  if (parameters !== undefined) tool.parameters = parameters
  return tool
}

/** Reads the tools that a client has found by a search. */
export const foundTools: Member = tools

/** Reads the tools that a client adds later. */
export const additionalTools: Member = toolsBesideOthers

function toFunction(name: string, tool: JsonObject): FunctionTool {
  if (tool.type !== 'custom') return readFunction(tool, 'tools', false)
  const { description, format } = tool
  const grammar = readGrammar(format)
  return functionForCustom({
    kind: 'custom',
    name,
    ...(isText(description) && { description }),
    ...(grammar !== undefined && { grammar }),
    cache: false,
  })
}

const CHOICE_WORDS = oneOf('none', 'auto', 'required')
const namedReference = needing(['name'], { type: asItCame, name: toolName, namespace: toolName })
const reference: Member = (value, place, reading) => {
  if (isObject(value) && NAMED_TOOLS.has(value.type)) return namedReference(value, place, reading)
  reading.faults.add(`${place}.type`, 'must be function or custom')
  return OMITTED
}
const allowedTools = needing(['mode', 'tools'], {
  type: asItCame,
  mode: oneOf('auto', 'required'),
  tools: listOf(reference, MAX_TOOLS, 'tools'),
})

/** Reads `tool_choice`: a word, one tool, or several allowed tools. */
export function readToolChoice(value: unknown, reading: RequestReading): unknown {
  if (value === undefined || value === null) return undefined
  if (!isObject(value)) return CHOICE_WORDS(value, 'tool_choice', reading)
  return (value.type === 'allowed_tools' ? allowedTools : reference)(value, 'tool_choice', reading)
}

/** Returns a checked choice among functions. */
export function toToolChoice(choice: unknown): ToolChoice | undefined {
  if (choice === undefined || choice === 'none' || choice === 'required') return choice
  if (!isObject(choice)) return 'auto'
  if (choice.type !== 'allowed_tools') return toFunctionReference(choice)
  const { mode, tools: allowed } = choice
  return {
    kind: 'allowed',
    mode: mode === 'required' ? mode : 'auto',
    tools: Array.isArray(allowed) ? allowed.filter(isObject).map(toFunctionReference) : [],
  }
}

function toFunctionReference(reference: JsonObject): ToolReference {
  return { kind: 'function', name: flatNameOf(reference) }
}

function flatNameOf({ name, namespace: within }: JsonObject): string {
  return flatName(within as string | undefined, name as string)
}

/** Returns a tool choice without namespaces, for a provider of this API. */
export function toFlatChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice
  if (choice.type !== 'allowed_tools') return toFlatReference(choice)
  const { mode, tools: allowed, type } = choice
  return { type, mode, tools: Array.isArray(allowed) ? allowed.filter(isObject).map(toFlatReference) : [] }
}

function toFlatReference(reference: JsonObject): JsonObject {
  return { type: reference.type, name: flatNameOf(reference) }
}

const FORMATS: ReadonlyMap<unknown, Member> = new Map([
  ['text', objectOf(membersOf({ type: asItCame }))],
  ['json_object', objectOf(membersOf({ type: asItCame }))],
  [
    'json_schema',
    needing(['name', 'schema'], {
      type: asItCame,
      name: text,
      description: text,
      strict: boolean,
      schema: data,
    }),
  ],
])

const format: Member = (value, place, reading) => {
  const read = isObject(value) ? FORMATS.get(value.type) : undefined
  if (read !== undefined) return read(value, place, reading)
  reading.faults.add(`${place}.type`, 'must be text, json_object or json_schema')
  return OMITTED
}

const textSettings = objectOf(membersOf({ format, verbosity: oneOf('low', 'medium', 'high') }))

/** Reads `text`: the format of the reply, and how long it should be. */
export function readText(value: unknown, reading: RequestReading): JsonObject {
  return value === undefined || value === null ? {} : (textSettings(value, 'text', reading) as JsonObject)
}

/** Returns the checked format of the reply. Undefined for plain text. */
export function toFormat({ format: given }: JsonObject): OutputFormat | undefined {
  if (!isObject(given) || given.type === 'text') return undefined
  return given.type === 'json_schema' ? readSchema(given) : { kind: 'json' }
}
