import { isObject, type JsonObject } from '../json-values.js'
import {
  asItCame,
  boolean,
  cacheControl,
  data,
  listOf,
  type Member,
  membersOf,
  needing,
  objectOf,
  oneOf,
  type RequestReading,
  text,
  toolName,
} from './reading.js'

const MAX_TOOLS = 1_024

const definition = { name: toolName, description: text, parameters: data }
const functionDefinition = needing(['name'], { ...definition, strict: boolean })
const grammar = needing(['syntax', 'definition'], { syntax: oneOf('lark', 'regex'), definition: text })
const customDefinition = needing(['name'], {
  name: toolName,
  description: text,
  format: needing(['type'], { type: oneOf('text', 'grammar'), grammar }),
})

const FUNCTION_TOOL = needing(['function'], {
  type: asItCame,
  function: functionDefinition,
  cache_control: cacheControl,
})
const CUSTOM_TOOL = needing(['custom'], {
  type: asItCame,
  custom: customDefinition,
  cache_control: cacheControl,
})

/** The host must name other tools, even without a type: some providers accept hosted tools without one, and bill for them. */
const tool: Member = (value, place, reading) => {
  const type = isObject(value) ? value.type : undefined
  if (type === 'function') return FUNCTION_TOOL(value, place, reading)
  if (type === 'custom') return CUSTOM_TOOL(value, place, reading)
  const name = typeof type === 'string' ? `tools.${type}` : 'tools.type'
  reading.mustBeNamed(name, name)
  if (!isObject(value) || (value.cache_control ?? undefined) === undefined) return value
  return { ...value, cache_control: cacheControl(value.cache_control, `${place}.cache_control`, reading) }
}

export const tools = listOf(tool, MAX_TOOLS)

export const functions = listOf(needing(['name'], definition), MAX_TOOLS)

const namedFunction = needing(['name'], { name: toolName })

const CHOICE_WORDS = new Set(['none', 'auto', 'required', 'any'])
const TOOL_REFERENCES: ReadonlyMap<unknown, Member> = new Map([
  ['function', needing(['function'], { type: asItCame, function: namedFunction })],
  ['custom', needing(['custom'], { type: asItCame, custom: namedFunction })],
])

const toolReference: Member = (value, place, reading) => {
  const read = isObject(value) ? TOOL_REFERENCES.get(value.type) : undefined
  if (read !== undefined) return read(value, place, reading)
  reading.faults.add(`${place}.type`, 'must be function or custom')
  return value
}

const ALLOWED_TOOLS = needing(['allowed_tools'], {
  type: asItCame,
  allowed_tools: needing(['mode', 'tools'], {
    mode: oneOf('auto', 'required'),
    tools: listOf(toolReference, MAX_TOOLS),
  }),
})

export const toolChoice: Member = (value, place, reading) => {
  if (typeof value === 'string') {
    if (!CHOICE_WORDS.has(value))
      reading.faults.add(place, 'must be none, auto, required or any, or an object')
    return value
  }
  const type = isObject(value) ? value.type : undefined
  if (type === 'allowed_tools') return ALLOWED_TOOLS(value, place, reading)
  const read = TOOL_REFERENCES.get(type)
  if (read !== undefined) return read(value, place, reading)
  reading.faults.add(`${place}.type`, 'must be function, custom or allowed_tools')
  return value
}

export const functionChoice: Member = (value, place, reading) => {
  if (typeof value !== 'string') return namedFunction(value, place, reading)
  if (value !== 'none' && value !== 'auto') reading.faults.add(place, 'must be none, auto or { name }')
  return value
}

const FORMATS: ReadonlyMap<unknown, Member> = new Map([
  ['text', objectOf(membersOf({ type: asItCame }))],
  ['json_object', objectOf(membersOf({ type: asItCame, schema: data }))],
  [
    'json_schema',
    needing(['json_schema'], {
      type: asItCame,
      json_schema: objectOf(membersOf({ name: text, description: text, strict: boolean, schema: data })),
    }),
  ],
])

/** The host must name other formats: a server may bill for them, or run a grammar as a program. */
export const responseFormat: Member = (value, place, reading: RequestReading): unknown => {
  if (!isObject(value)) {
    reading.faults.add(place, 'must be an object with a type')
    return value
  }
  const { type }: JsonObject = value
  if (typeof type !== 'string') {
    reading.faults.add(`${place}.type`, type === undefined ? 'is required' : 'must be a string')
    return value
  }
  const read = FORMATS.get(type)
  if (read !== undefined) return read(value, place, reading)
  const name = `response_format.${type}`
  reading.mustBeNamed(name, name)
  return value
}
