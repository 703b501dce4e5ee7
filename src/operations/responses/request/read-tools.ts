import { CompatError } from '../../../base/errors.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
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
  oneOf,
  type RequestReading,
  text,
} from '../../../protocol/request-fields/reading.js'
import { cleanLabel } from '../../../protocol/text.js'

/** The tools of a request in both spellings. */
export interface ReadTools {
  /** As the client sent them. */
  readonly given: readonly JsonObject[]
  /** As a chat request has them. */
  readonly chat: readonly JsonObject[]
  /** The names of the tools whose input is any text. */
  readonly custom: ReadonlySet<string>
}

const MAX_TOOLS = 1_024
const SHOWN_CHARS = 64

const functionTool = needing(['name'], {
  type: asItCame,
  name: text,
  description: text,
  parameters: data,
  strict: boolean,
})
const grammar = needing(['type'], {
  type: oneOf('text', 'grammar'),
  syntax: oneOf('lark', 'regex'),
  definition: text,
})
const customTool = needing(['name'], { type: asItCame, name: text, description: text, format: grammar })

const tool: Member = (value, place, reading) => {
  const type = isObject(value) ? value.type : undefined
  if (type === 'function') return functionTool(value, place, reading)
  if (type === 'custom') return customTool(value, place, reading)
  const named = typeof type === 'string' ? `tools.${cleanLabel(type, SHOWN_CHARS)}` : `${place}.type`
  throw new CompatError(
    'unsupported_parameter',
    `${named} is not accepted. Only tools of the types function and custom are, which the client runs.`,
    { param: named },
  )
}

const tools = listOf(tool, MAX_TOOLS, 'tools')

/** Reads the tools that the client runs itself. Throws 400 for a tool that a provider would run, and bill apart. */
export function readTools(value: unknown, reading: RequestReading): ReadTools {
  const given = value === undefined || value === null ? [] : tools(value, 'tools', reading)
  const listed = Array.isArray(given) ? given.filter(isObject) : []
  const custom = listed.filter(({ type }) => type === 'custom').map(({ name }) => String(name))
  return { given: listed, chat: listed.map(toChatTool), custom: new Set(custom) }
}

/** The only argument of the function that stands for a tool with text as its input. */
const INPUT = 'input'

function toChatTool({ description, format, name, parameters, strict, type }: JsonObject): JsonObject {
  if (type === 'custom') {
    return {
      type: 'function',
      function: {
        name,
        description: describe(description, format),
        parameters: {
          type: 'object',
          properties: {
            [INPUT]: { type: 'string', description: 'The whole input of the tool, as plain text.' },
          },
          required: [INPUT],
          additionalProperties: false,
        },
      },
    }
  }
  const definition: JsonObject = { name }
  if (description !== undefined) definition.description = description
  if (parameters !== undefined) definition.parameters = parameters
  if (strict !== undefined) definition.strict = strict
  return { type: 'function', function: definition }
}

function describe(description: unknown, format: unknown): string {
  const words = typeof description === 'string' ? [description] : []
  if (isObject(format) && format.type === 'grammar') {
    words.push(`The input must match this ${format.syntax ?? ''} grammar:\n${format.definition ?? ''}`)
  }
  return words.length === 0 ? 'Takes plain text.' : words.join('\n\n')
}

/** Returns the arguments of the function that stands for a tool with text as its input. */
export function toCustomArguments(input: string): string {
  return JSON.stringify({ [INPUT]: input })
}

/** Returns the input in such arguments. Arguments of another shape are the input as they are. */
export function toCustomInput(args: string): string {
  try {
    const value: unknown = JSON.parse(args)
    if (isObject(value) && typeof value[INPUT] === 'string') return value[INPUT]
  } catch {
    // The model broke off, or wrote the input itself.
  }
  return args
}

const CHOICE_WORDS = oneOf('none', 'auto', 'required')
const reference = needing(['name'], { type: oneOf('function', 'custom'), name: text })
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

/** Returns a tool choice as a chat request has it. */
export function toChatChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice
  if (choice.type !== 'allowed_tools') return toChatReference(choice)
  const { mode, tools: allowed } = choice
  return {
    type: 'allowed_tools',
    allowed_tools: {
      mode,
      tools: Array.isArray(allowed) ? allowed.filter(isObject).map(toChatReference) : [],
    },
  }
}

function toChatReference({ name }: JsonObject): JsonObject {
  return { type: 'function', function: { name } }
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

/** Returns the format of the reply as a chat request has it, or undefined if there is none. */
export function toChatFormat({ format: given }: JsonObject): JsonObject | undefined {
  if (!isObject(given) || given.type === 'text') return undefined
  if (given.type !== 'json_schema') return { type: given.type }
  const { type, ...schema } = given
  return { type, json_schema: schema }
}
