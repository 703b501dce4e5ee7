import type { Mutable } from '../base/mutable.js'
import { ExactInteger } from '../protocol/exact-data.js'
import { isObject, isText, type JsonObject, textOf } from '../protocol/json-values.js'
import { hasCacheMark } from './read-chat-content.js'
import type {
  ConversationSettings,
  FunctionTool,
  Grammar,
  OutputBound,
  OutputFormat,
  Reasoning,
  Tool,
  ToolChoice,
  ToolReference,
} from './settings.js'
import { unsupported } from './unsupported.js'

type Settings = Mutable<ConversationSettings> & { others: JsonObject }
/** Reads the value of a field, which is neither null nor undefined, into the settings. */
type FieldReader = (value: unknown, settings: Settings, chat: JsonObject) => void

const ignored: FieldReader = () => {}

function number(field: string, member: KeyFor<number>): readonly [string, FieldReader] {
  return [
    field,
    (value, settings) => {
      if (typeof value !== 'number') throw unsupported(field, `${field} must be a number.`)
      settings[member] = value
    },
  ]
}

function text(field: string, member: KeyFor<string>): readonly [string, FieldReader] {
  return [
    field,
    (value, settings) => {
      if (typeof value !== 'string') throw unsupported(field, `${field} must be a string.`)
      settings[member] = value
    },
  ]
}

/** The settings whose values are of one type. */
type KeyFor<Value> = {
  [Member in keyof Settings]-?: Settings[Member] extends Value | undefined
    ? Value | undefined extends Settings[Member]
      ? Member
      : never
    : never
}[keyof Settings]

const READERS: ReadonlyMap<string, FieldReader> = new Map<string, FieldReader>([
  ['model', ignored],
  ['messages', ignored],
  ['stream', ignored],
  ['stream_options', ignored],
  ['max_tokens', (value, settings) => (settings.bound ??= readBound(value, 'max_tokens'))],
  [
    'max_completion_tokens',
    (value, settings) => {
      settings.bound = readBound(value, 'max_completion_tokens')
    },
  ],
  number('n', 'choices'),
  ['stop', readStop],
  number('temperature', 'temperature'),
  number('top_p', 'topP'),
  number('top_k', 'topK'),
  number('frequency_penalty', 'frequencyPenalty'),
  number('presence_penalty', 'presencePenalty'),
  ['seed', readSeed],
  ['logprobs', readLogprobs],
  number('top_logprobs', 'topLogprobs'),
  ['tools', readTools],
  ['functions', readOlderTools],
  [
    'tool_choice',
    (value, settings) => {
      settings.toolChoice ??= readChoice(value)
    },
  ],
  ['function_call', readOlderChoice],
  ['parallel_tool_calls', readParallel],
  [
    'response_format',
    (value, settings) => {
      settings.format = readFormat(value)
    },
  ],
  ['reasoning', readReasoning],
  [
    'reasoning_effort',
    (value, settings) => {
      settings.reasoning ??= { effort: wordIn(value, 'reasoning_effort'), param: 'reasoning_effort' }
    },
  ],
  text('verbosity', 'verbosity'),
  text('user', 'user'),
  text('safety_identifier', 'safetyIdentifier'),
  ['metadata', readMetadata],
  text('prompt_cache_key', 'cacheKey'),
  text('prompt_cache_retention', 'cacheRetention'),
  [
    'cache_control',
    (_value, settings) => {
      settings.cache = true
    },
  ],
])

/**
 * Reads the fields of a chat beside its messages. Null counts as absent. A value that cannot be read throws
 * `unsupported-request` with its path.
 *
 * @param kept the fields that an adapter itself reads from `others`, as the client sent them
 */
export function readFields(chat: JsonObject, kept?: readonly string[]): Settings {
  const others: JsonObject = {}
  const settings: Settings = { stop: [], tools: [], others }
  for (const name of Object.keys(chat)) {
    const value = chat[name]
    if (value === null || value === undefined) continue
    const read = kept?.includes(name) ? undefined : READERS.get(name)
    if (read === undefined) others[name] = value
    else read(value, settings, chat)
  }
  return settings
}

function readBound(tokens: unknown, param: OutputBound['param']): OutputBound {
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 1)
    throw unsupported(param, `${param} must be a positive integer.`)
  return { tokens, param }
}

function readStop(stop: unknown, settings: Settings): void {
  const sequences: unknown[] = Array.isArray(stop) ? stop : [stop]
  settings.stop = sequences.map((sequence) => {
    if (typeof sequence !== 'string')
      throw unsupported('stop', 'stop must be a string or an array of strings.')
    return sequence
  })
}

function readSeed(seed: unknown, settings: Settings): void {
  if (seed instanceof ExactInteger) settings.seed = BigInt(seed.digits)
  else if (typeof seed === 'number') settings.seed = seed
  else throw unsupported('seed', 'seed must be a number.')
}

/** Some servers take the number of alternatives in `logprobs` itself. */
function readLogprobs(logprobs: unknown, settings: Settings): void {
  if (typeof logprobs === 'boolean') settings.logprobs = logprobs
  if (typeof logprobs !== 'number' || logprobs === 0) return
  settings.logprobs = true
  settings.topLogprobs ??= logprobs
}

function readMetadata(given: unknown, settings: Settings): void {
  if (!isObject(given)) throw unsupported('metadata', 'metadata must be an object.')
  const metadata: Record<string, string> = {}
  for (const name of Object.keys(given)) metadata[name] = String(given[name])
  settings.metadata = metadata
}

function readTools(tools: unknown, settings: Settings): void {
  const read = listIn(tools, 'tools').map((tool, index) => readTool(tool, `tools.${index}`))
  settings.tools = [...read, ...settings.tools]
}

function readOlderTools(functions: unknown, settings: Settings): void {
  const read = listIn(functions, 'functions').map((definition, index) =>
    readFunction(definition, `functions.${index}`, false),
  )
  settings.olderTools = true
  settings.tools = [...settings.tools, ...read]
}

/** Reads the choice among the functions of the older form. */
function readOlderChoice(choice: unknown, settings: Settings, { functions }: JsonObject): void {
  if (functions === undefined || functions === null) {
    settings.others.function_call = choice
  } else if (isObject(choice)) {
    settings.toolChoice = { kind: 'function', name: nameIn(choice, 'function_call') }
  } else settings.toolChoice = readChoice(choice)
}

function readParallel(parallel: unknown, settings: Settings): void {
  if (typeof parallel !== 'boolean')
    throw unsupported('parallel_tool_calls', 'parallel_tool_calls must be a boolean.')
  settings.parallelCalls = parallel
}

function listIn(value: unknown, param: string): readonly unknown[] {
  if (!Array.isArray(value)) throw unsupported(param, `${param} must be an array.`)
  return value
}

function readTool(tool: unknown, param: string): Tool {
  if (!isObject(tool)) throw unsupported(param, `${param} must be an object.`)
  const cache = hasCacheMark(tool)
  if (tool.type === 'function') return readFunction(tool.function, `${param}.function`, cache)
  const { custom } = tool
  if (tool.type !== 'custom' || !isObject(custom)) return { kind: 'provider', definition: tool }
  const { description, format } = custom
  return {
    kind: 'custom',
    name: nameIn(custom, `${param}.custom`),
    description: textOf(description),
    grammar: isObject(format) && format.type === 'grammar' ? readGrammar(format.grammar) : undefined,
    cache,
  }
}

/** Reads a function: the members `name`, `description`, `parameters` and `strict`. */
export function readFunction(definition: unknown, param: string, cache: boolean): FunctionTool {
  const { description, name, parameters = null, strict } = isObject(definition) ? definition : {}
  if (!isText(name)) throw unsupported(`${param}.name`, `${param}.name must be a string.`)
  if (parameters !== null && !isObject(parameters))
    throw unsupported(`${param}.parameters`, `${param}.parameters must be a JSON schema.`)
  return {
    kind: 'function',
    name,
    description: textOf(description),
    parameters: parameters ?? undefined,
    strict: typeof strict === 'boolean' ? strict : undefined,
    cache,
  }
}

function nameIn(definition: unknown, param: string): string {
  const name = isObject(definition) ? textOf(definition.name) : undefined
  if (name === undefined) throw unsupported(`${param}.name`, `${param}.name must be a string.`)
  return name
}

/** Reads the members `syntax` and `definition`. Returns undefined if either is missing. */
export function readGrammar(grammar: unknown): Grammar | undefined {
  if (!isObject(grammar)) return undefined
  const { definition, syntax } = grammar
  if ((syntax !== 'lark' && syntax !== 'regex') || typeof definition !== 'string') return undefined
  return { syntax, definition }
}

function readChoice(choice: unknown): ToolChoice {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  // Mistral's name for it.
  if (choice === 'any') return 'required'
  const reference = readReference(choice)
  if (reference !== undefined) return reference
  const allowed = isObject(choice) && isObject(choice.allowed_tools) ? choice.allowed_tools : {}
  const { mode, tools } = allowed
  if ((mode !== 'auto' && mode !== 'required') || !Array.isArray(tools)) {
    throw unsupported('tool_choice', 'tool_choice must be "auto", "none", "required" or a named tool.')
  }
  return { kind: 'allowed', mode, tools: tools.flatMap((tool) => readReference(tool) ?? []) }
}

function readReference(value: unknown): ToolReference | undefined {
  if (!isObject(value) || (value.type !== 'function' && value.type !== 'custom')) return undefined
  const { [value.type]: named, type: kind } = value
  const name = isObject(named) ? textOf(named.name) : undefined
  return name === undefined ? undefined : { kind, name }
}

function readFormat(format: unknown): OutputFormat | undefined {
  const { json_schema: inner, type } = isObject(format) ? format : {}
  if (type === 'text') return undefined
  if (type === 'json_object') {
    // Some clients put a schema beside json_object.
    const { schema } = format as JsonObject
    return isObject(schema) ? { kind: 'schema', schema } : { kind: 'json' }
  }
  if (type !== 'json_schema') {
    throw unsupported(
      'response_format.type',
      'response_format.type must be "text", "json_object" or "json_schema".',
    )
  }
  return readSchema(inner)
}

/** Reads a format with the members `schema`, `name`, `description` and `strict`. */
export function readSchema(format: unknown): OutputFormat {
  const { description, name, schema, strict } = isObject(format) ? format : {}
  if (!isObject(schema))
    throw unsupported('response_format.json_schema', 'response_format.json_schema needs a "schema".')
  return {
    kind: 'schema',
    schema,
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

/** It takes precedence over `reasoning_effort` if it says anything. */
function readReasoning(reasoning: unknown, settings: Settings): void {
  if (!isObject(reasoning)) throw unsupported('reasoning', 'reasoning must be an object.')
  const read = readReasoningObject(reasoning)
  if (read !== undefined) settings.reasoning = read
}

/** Members that are accepted. A summary only changes the shape of the reply. */
const REASONING_MEMBERS = new Set(['effort', 'max_tokens', 'enabled', 'summary', 'generate_summary'])

function readReasoningObject(reasoning: JsonObject): Reasoning | undefined {
  for (const field of Object.keys(reasoning)) {
    const value = reasoning[field]
    if (!REASONING_MEMBERS.has(field) && value !== null && !(field === 'exclude' && value === false)) {
      throw unsupported(`reasoning.${field}`, `reasoning.${field} is not supported by this provider.`)
    }
  }
  const { effort, enabled, max_tokens: budget } = reasoning
  if (enabled === false) return { effort: 'none', param: 'reasoning.enabled' }
  if (budget !== undefined && budget !== null) {
    if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < 1) {
      throw unsupported('reasoning.max_tokens', 'reasoning.max_tokens must be a positive integer.')
    }
    return { budget, param: 'reasoning.max_tokens' }
  }
  if (effort !== undefined && effort !== null)
    return { effort: wordIn(effort, 'reasoning.effort'), param: 'reasoning.effort' }
  return enabled === true ? { effort: 'medium', param: 'reasoning.enabled' } : undefined
}

function wordIn(effort: unknown, param: string): string {
  if (typeof effort !== 'string') throw unsupported(param, `${param} must be a string.`)
  return effort
}
