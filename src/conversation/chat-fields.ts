import { ExactInteger } from '../protocol/exact-data.js'
import type { JsonObject } from '../protocol/json-values.js'
import type {
  ConversationSettings,
  OutputFormat,
  Reasoning,
  Tool,
  ToolChoice,
  ToolReference,
} from './settings.js'

/** The settings of a request that asks for nothing. */
export const NO_SETTINGS: ConversationSettings = { stop: [], tools: [], others: {} }

/** Which field has one of the other members depends on the client. */
type NamedMember = Exclude<keyof ConversationSettings, 'bound' | 'reasoning' | 'others'>

/** The field in which a chat has each setting. */
export const CHAT_NAMES = {
  choices: 'n',
  stop: 'stop',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  seed: 'seed',
  logprobs: 'logprobs',
  topLogprobs: 'top_logprobs',
  tools: 'tools',
  olderTools: 'functions',
  toolChoice: 'tool_choice',
  parallelCalls: 'parallel_tool_calls',
  format: 'response_format',
  verbosity: 'verbosity',
  user: 'user',
  safetyIdentifier: 'safety_identifier',
  metadata: 'metadata',
  cacheKey: 'prompt_cache_key',
  cacheRetention: 'prompt_cache_retention',
  cache: 'cache_control',
} as const satisfies Readonly<Record<NamedMember, string>>

const NAMED = Object.entries(CHAT_NAMES) as readonly (readonly [NamedMember, field: string])[]
const MEMBERS = new Map<string, (typeof NAMED)[number]>(NAMED.map((named) => [named[0], named]))

/** The only mark that the router accepts. */
export const CACHE_MARK = { type: 'ephemeral' }

/** Returns the field of a chat that asks for reasoning, without a member of it. */
export function reasoningField({ param }: Reasoning): 'reasoning' | 'reasoning_effort' {
  return param.startsWith('reasoning.') ? 'reasoning' : 'reasoning_effort'
}

/** Yields the settings that are there, in their order, each with its member and the field of a chat for it. */
export function* namedSettings(
  settings: ConversationSettings,
): Generator<readonly [keyof ConversationSettings, field: string, value: unknown]> {
  const { bound, others, reasoning } = settings
  if (bound !== undefined) yield ['bound', bound.param, bound.tokens]
  if (reasoning !== undefined) yield ['reasoning', reasoningField(reasoning), reasoning]
  for (const key of Object.keys(settings)) {
    const named = MEMBERS.get(key)
    if (named === undefined) continue
    const [member, field] = named
    const value = settings[member]
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) yield [member, field, value]
  }
  for (const field of Object.keys(others)) yield ['others', field, others[field]]
}

/** Returns settings without the one that a chat has in this field. Returns the same object if there is none. */
export function withoutField(settings: ConversationSettings, field: string): ConversationSettings {
  for (const [member, name] of namedSettings(settings)) {
    if (name !== field) continue
    if (member !== 'others') return { ...settings, [member]: NO_SETTINGS[member] }
    const { [field]: _, ...others } = settings.others
    return { ...settings, others }
  }
  return settings
}

/** Writes settings as the fields of a chat. */
export function writeFields(settings: ConversationSettings): JsonObject {
  const fields: JsonObject = {}
  for (const [, field, value] of namedSettings(settings)) fields[field] = value
  const { cache, format, olderTools, reasoning, seed, toolChoice, tools } = settings
  if (cache) fields.cache_control = CACHE_MARK
  if (format !== undefined) fields.response_format = writeFormat(format)
  if (reasoning !== undefined) fields[reasoningField(reasoning)] = writeReasoning(reasoning)
  if (typeof seed === 'bigint') fields.seed = new ExactInteger(String(seed))
  if (toolChoice !== undefined) fields.tool_choice = writeChoice(toolChoice)
  const written = tools.map(writeTool)
  if (olderTools) {
    fields.functions = written.map((tool) => tool.function)
    delete fields.tools
  } else if (written.length > 0) fields.tools = written
  return fields
}

function writeTool(tool: Tool): JsonObject {
  if (tool.kind === 'provider') return tool.definition
  const { description, name } = tool
  const definition: JsonObject = { name }
  if (description !== undefined) definition.description = description
  if (tool.kind === 'custom') {
    if (tool.grammar !== undefined) definition.format = { type: 'grammar', grammar: tool.grammar }
  } else {
    if (tool.parameters !== undefined) definition.parameters = tool.parameters
    if (tool.strict !== undefined) definition.strict = tool.strict
  }
  const written: JsonObject =
    tool.kind === 'custom'
      ? { type: 'custom', custom: definition }
      : { type: 'function', function: definition }
  if (tool.cache) written.cache_control = CACHE_MARK
  return written
}

function writeChoice(choice: ToolChoice): unknown {
  if (typeof choice === 'string') return choice
  if (choice.kind !== 'allowed') return writeReference(choice)
  const { kind: _, mode, tools } = choice
  return { type: 'allowed_tools', allowed_tools: { mode, tools: tools.map(writeReference) } }
}

function writeReference({ kind, name }: ToolReference): JsonObject {
  return { type: kind, [kind]: { name } }
}

function writeFormat(format: OutputFormat): JsonObject {
  if (format.kind === 'json') return { type: 'json_object' }
  const { kind: _, ...schema } = format
  return { type: 'json_schema', json_schema: schema }
}

function writeReasoning(reasoning: Reasoning): unknown {
  if (reasoningField(reasoning) === 'reasoning_effort') return reasoning.effort
  return reasoning.budget === undefined ? { effort: reasoning.effort } : { max_tokens: reasoning.budget }
}
