import { CompatError } from '../../../base/errors.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { KNOWN_FIELDS } from '../../../protocol/request-fields/known-fields.js'
import {
  asItCame,
  boolean,
  cacheControl,
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
import { message, system } from './blocks.js'

const MAX_MESSAGES = 10_000
const MAX_TOOLS = 1_024
const MAX_STOPS = 64
const MAX_EDITS = 16
const EFFORT = /^[a-z]{1,16}$/

function matching(rule: string, isRight: (value: unknown) => boolean): Member {
  return (value, place, { faults }) => {
    if (!isRight(value)) faults.add(place, `must be ${rule}`)
    return value
  }
}

const number = matching('a number', (value) => typeof value === 'number')
const integer = matching('an integer', (value) => Number.isSafeInteger(value))
const positive = matching(
  'a positive integer',
  (value) => Number.isSafeInteger(value) && (value as number) >= 1,
)

const CUSTOM_TOOL = needing(['name', 'input_schema'], {
  type: asItCame,
  name: toolName,
  description: text,
  input_schema: data,
  strict: boolean,
  input_examples: listOf(data, MAX_TOOLS),
  eager_input_streaming: boolean,
  cache_control: cacheControl,
  // These belong to tools that the provider runs.
  allowed_callers: omitted,
  defer_loading: omitted,
})

/**
 * A tool of another type is one of the provider's own. The host must name it, since the provider may bill for it
 * separately.
 */
const tool: Member = (value, place, reading) => {
  const type = isObject(value) ? (value.type ?? 'custom') : 'custom'
  if (type === 'custom') return CUSTOM_TOOL(value, place, reading)
  const name = typeof type === 'string' ? `tools.${type}` : 'tools.type'
  reading.mustBeNamed(name, name)
  if (!isObject(value) || (value.cache_control ?? undefined) === undefined) return value
  return { ...value, cache_control: cacheControl(value.cache_control, `${place}.cache_control`, reading) }
}

const single = { type: asItCame, disable_parallel_tool_use: boolean }
const CHOICES: ReadonlyMap<unknown, Member> = new Map([
  ['auto', objectOf(membersOf(single))],
  ['any', objectOf(membersOf(single))],
  ['tool', needing(['name'], { ...single, name: toolName })],
  ['none', objectOf(membersOf({ type: asItCame }))],
])

const toolChoice: Member = (value, place, reading) => {
  const read = isObject(value) ? CHOICES.get(value.type) : undefined
  if (read !== undefined) return read(value, place, reading)
  reading.faults.add(`${place}.type`, 'must be auto, any, tool or none')
  return value
}

const thinking = needing(['type'], {
  type: oneOf('enabled', 'adaptive', 'between_tools', 'disabled'),
  budget_tokens: positive,
  display: oneOf('summarized', 'omitted', 'updates'),
})

const format = needing(['type', 'schema'], { type: oneOf('json_schema'), schema: data })
const outputConfig = objectOf(
  membersOf({
    effort: matching(
      'a word of up to 16 lowercase letters',
      (value) => typeof value === 'string' && EFFORT.test(value),
    ),
    format,
  }),
)

const amount = needing(['type', 'value'], { type: text, value: integer })
/** Edits that only shorten the input. Others make the provider call a model again and bill for it. */
const edit = needing(['type'], {
  type: oneOf('clear_tool_uses_20250919', 'clear_thinking_20251015'),
  trigger: amount,
  keep: (value, place, reading) => (value === 'all' ? value : amount(value, place, reading)),
  clear_at_least: amount,
  exclude_tools: listOf(text, MAX_TOOLS),
  clear_tool_inputs: (value, place, reading) =>
    typeof value === 'boolean' ? value : listOf(text, MAX_TOOLS)(value, place, reading),
})
const contextManagement = objectOf(membersOf({ edits: listOf(edit, MAX_EDITS) }))

const messages: Member = (value, place, reading) => {
  if (Array.isArray(value) && value.length === 0) {
    reading.faults.add(place, 'must have at least one message')
    return value
  }
  return listOf(message, MAX_MESSAGES, 'messages')(value, place, reading)
}

/** Accepts the default of a field without sending it. The host must name the field to allow other values. */
function onlyByDefault(name: string, isDefault: (value: unknown) => boolean): Member {
  return (value, place, reading) => {
    if (isDefault(value)) return OMITTED
    reading.mustBeNamed(name, place)
    return value
  }
}

/**
 * The fields of a request that may reach every provider, besides `model` and `betas`. As for chats
 * (docs/request-fields.md), a field is listed only if no caller can use it to choose the cost of a call or its
 * provider.
 */
const FIELDS: ReadonlyMap<string, Member> = membersOf({
  messages,
  max_tokens: positive,
  system,
  stream: boolean,
  stop_sequences: listOf(text, MAX_STOPS),
  temperature: number,
  top_p: number,
  top_k: integer,
  tools: listOf(tool, MAX_TOOLS),
  tool_choice: toolChoice,
  thinking,
  output_config: outputConfig,
  output_format: format,
  metadata: objectOf(membersOf({ user_id: text })),
  cache_control: cacheControl,
  context_management: contextManagement,
  service_tier: onlyByDefault('service_tier', (value) => value === 'auto'),
  speed: onlyByDefault('speed', (value) => value === 'standard'),
  // It only explains a cache miss.
  diagnostics: omitted,
})

export const FIELD_NAMES: readonly string[] = [...FIELDS.keys()]

/**
 * Reads the fields for providers. Null counts as absent, and so do `{}` and `[]` except as messages. Chat fields that
 * this API does not have cause a 400, whatever the host names, because a model's list of parameters names some of them.
 */
export function readFields(
  body: JsonObject,
  names: readonly string[],
  requiresLimit: boolean,
  reading: RequestReading,
): JsonObject {
  const sent: JsonObject = {}
  for (const name of names) {
    const value = body[name] ?? undefined
    if (value === undefined) continue
    const member = FIELDS.get(name)
    if (member === undefined && KNOWN_FIELDS.has(name)) {
      throw new CompatError('unsupported_parameter', `${name} is not a field of the Messages API.`, {
        param: name,
      })
    }
    if (name === 'thread') throw noThreads()
    if (name !== 'messages' && isEmpty(value)) continue
    if (member === undefined) {
      reading.mustBeNamed(name, name)
      sent[name] = value
      continue
    }
    const read = member(value, name, reading)
    if (read !== OMITTED) sent[name] = read
  }
  for (const name of requiresLimit ? ['messages', 'max_tokens'] : ['messages']) {
    if ((body[name] ?? undefined) === undefined) reading.faults.add(name, 'is required')
  }
  return sent
}

/**
 * A thread would be a conversation that the provider keeps, which other callers could name and whose prompt nobody can
 * bound. Anthropic's client goes on without one if the error has these details.
 */
function noThreads(): CompatError {
  return new CompatError(
    'unsupported_parameter',
    'thread is not accepted: this service keeps no conversations. Send all messages with each request.',
    { param: 'thread', details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } },
  )
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.keys(value).length === 0
}
