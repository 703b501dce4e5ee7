import type { Mutable } from '../base/mutable.js'
import { ExactInteger } from '../protocol/exact-data.js'
import { isObject, type JsonObject, textOf } from '../protocol/json-values.js'
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

const NUMBERS = [
  ['n', 'choices'],
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
  ['top_logprobs', 'topLogprobs'],
] as const
const TEXTS = [
  ['verbosity', 'verbosity'],
  ['user', 'user'],
  ['safety_identifier', 'safetyIdentifier'],
  ['prompt_cache_key', 'cacheKey'],
  ['prompt_cache_retention', 'cacheRetention'],
] as const

/** The fields that are read here. All others are left as they are. */
const READ: ReadonlySet<string> = new Set([
  ...NUMBERS.map(([field]) => field),
  ...TEXTS.map(([field]) => field),
  ...(
    'model messages stream stream_options max_tokens max_completion_tokens stop seed logprobs tools functions ' +
    'function_call tool_choice parallel_tool_calls response_format reasoning reasoning_effort metadata cache_control'
  ).split(' '),
])

/**
 * Reads the fields of a chat beside its messages. Null counts as absent. A value that cannot be read throws
 * `unsupported-request` with its path.
 *
 * @param kept the fields that an adapter itself reads from `others`, as the client sent them
 */
export function readFields(chat: JsonObject, kept: readonly string[] = []): ConversationSettings {
  const others: JsonObject = {}
  const fields: JsonObject = {}
  for (const name of Object.keys(chat)) {
    const value = chat[name] ?? undefined
    if (value === undefined) continue
    if (READ.has(name) && !kept.includes(name)) fields[name] = value
    else others[name] = value
  }
  const settings: Mutable<ConversationSettings> = { stop: readStop(fields), tools: [], others }
  readLogprobs(fields, settings)
  for (const [field, member] of NUMBERS) {
    const value = fields[field]
    if (value === undefined) continue
    if (typeof value !== 'number') throw unsupported(field, `${field} must be a number.`)
    settings[member] = value
  }
  for (const [field, member] of TEXTS) {
    const value = fields[field]
    if (value === undefined) continue
    if (typeof value !== 'string') throw unsupported(field, `${field} must be a string.`)
    settings[member] = value
  }
  settings.bound = readBound(fields)
  settings.seed = readSeed(fields)
  readTools(fields, settings)
  readOlderTools(fields, settings)
  settings.format = readFormat(fields)
  settings.reasoning = readReasoning(fields)
  if (isObject(fields.metadata)) settings.metadata = readMetadata(fields.metadata)
  if (fields.cache_control !== undefined) settings.cache = true
  return settings
}

/** `max_completion_tokens` takes precedence. */
function readBound({ max_completion_tokens: newer, max_tokens: older }: JsonObject): OutputBound | undefined {
  const tokens = newer ?? older
  if (tokens === undefined) return undefined
  const param = newer === undefined ? 'max_tokens' : 'max_completion_tokens'
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 1)
    throw unsupported(param, `${param} must be a positive integer.`)
  return { tokens, param }
}

function readStop({ stop }: JsonObject): readonly string[] {
  if (stop === undefined) return []
  const sequences: unknown[] = Array.isArray(stop) ? stop : [stop]
  return sequences.map((sequence) => {
    if (typeof sequence !== 'string')
      throw unsupported('stop', 'stop must be a string or an array of strings.')
    return sequence
  })
}

function readSeed({ seed }: JsonObject): number | bigint | undefined {
  if (seed === undefined || typeof seed === 'number') return seed
  if (seed instanceof ExactInteger) return BigInt(seed.digits)
  throw unsupported('seed', 'seed must be a number.')
}

/** Some servers take the number of alternatives in `logprobs` itself. */
function readLogprobs({ logprobs }: JsonObject, settings: Mutable<ConversationSettings>): void {
  if (typeof logprobs === 'boolean') settings.logprobs = logprobs
  if (typeof logprobs !== 'number' || logprobs === 0) return
  settings.logprobs = true
  settings.topLogprobs = logprobs
}

function readMetadata(given: JsonObject): Readonly<Record<string, string>> {
  const metadata: Record<string, string> = {}
  for (const name of Object.keys(given)) metadata[name] = String(given[name])
  return metadata
}

function readTools(fields: JsonObject, settings: Mutable<ConversationSettings>): void {
  const { parallel_tool_calls: parallel, tool_choice: choice, tools } = fields
  settings.tools = listIn(tools, 'tools').map((tool, index) => readTool(tool, `tools.${index}`))
  settings.toolChoice = readChoice(choice)
  if (parallel === undefined) return
  if (typeof parallel !== 'boolean')
    throw unsupported('parallel_tool_calls', 'parallel_tool_calls must be a boolean.')
  settings.parallelCalls = parallel
}

/** Reads the functions of the older form, and the choice among them. */
function readOlderTools(
  { function_call: choice, functions }: JsonObject,
  settings: Mutable<ConversationSettings>,
): void {
  if (functions === undefined) {
    if (choice !== undefined) settings.others = { ...settings.others, function_call: choice }
    return
  }
  const older = listIn(functions, 'functions').map((definition, index) =>
    readFunction(definition, `functions.${index}`, false),
  )
  settings.olderTools = true
  settings.tools = [...settings.tools, ...older]
  if (choice !== undefined)
    settings.toolChoice = isObject(choice)
      ? { kind: 'function', name: nameIn(choice, 'function_call') }
      : readChoice(choice)
}

function listIn(value: unknown, param: string): readonly unknown[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw unsupported(param, `${param} must be an array.`)
  return value
}

function readTool(tool: unknown, param: string): Tool {
  if (!isObject(tool)) throw unsupported(param, `${param} must be an object.`)
  const cache = hasCacheMark(tool)
  if (tool.type === 'function') return readFunction(tool.function, `${param}.function`, cache)
  const { custom } = tool
  if (tool.type !== 'custom' || !isObject(custom)) {
    return { kind: 'provider', definition: tool }
  }
  const description = textOf(custom.description)
  const { format } = custom
  const grammar = isObject(format) && format.type === 'grammar' ? readGrammar(format.grammar) : undefined
  return {
    kind: 'custom',
    name: nameIn(custom, `${param}.custom`),
    ...(description !== undefined && { description }),
    ...(grammar !== undefined && { grammar }),
    cache,
  }
}

/** Reads a function: the members `name`, `description`, `parameters` and `strict`. */
export function readFunction(definition: unknown, param: string, cache: boolean): FunctionTool {
  const name = nameIn(definition, param)
  const { description: words, parameters: schema, strict } = definition as JsonObject
  const description = textOf(words)
  const parameters = schema ?? undefined
  if (parameters !== undefined && !isObject(parameters))
    throw unsupported(`${param}.parameters`, `${param}.parameters must be a JSON schema.`)
  return {
    kind: 'function',
    name,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
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

function readChoice(choice: unknown): ToolChoice | undefined {
  if (choice === undefined) return undefined
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

function readFormat({ response_format: format }: JsonObject): OutputFormat | undefined {
  if (format === undefined) return undefined
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

/** `reasoning` takes precedence over `reasoning_effort` if it says anything. */
function readReasoning({ reasoning, reasoning_effort: effort }: JsonObject): Reasoning | undefined {
  if (reasoning !== undefined) {
    if (!isObject(reasoning)) throw unsupported('reasoning', 'reasoning must be an object.')
    const read = readReasoningObject(reasoning)
    if (read !== undefined) return read
  }
  return effort === undefined
    ? undefined
    : { effort: wordIn(effort, 'reasoning_effort'), param: 'reasoning_effort' }
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
