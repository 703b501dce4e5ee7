import { CompatError } from '../../../base/errors.js'
import type { Asked } from '../../../contracts/operation.js'
import type { ConversationRequest } from '../../../conversation/conversation.js'
import { readFields } from '../../../conversation/read-fields.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import { KNOWN_FIELDS } from '../../../protocol/request-fields/known-fields.js'
import { closeRequest, openRequest } from '../../../protocol/request-fields/open-request.js'
import { OUTLINE_NAMES } from '../../../protocol/request-fields/own-fields.js'
import { readParameters } from '../../../protocol/request-fields/parameters.js'
import type { RequestReading } from '../../../protocol/request-fields/reading.js'
import { REFUSED_FIELDS, Spellings } from '../../../protocol/request-fields/refused-fields.js'
import { toPlainItems } from './plain-items.js'
import { isReference, readInput } from './read-items.js'
import {
  readText,
  readToolChoice,
  readTools,
  type SpelledTools,
  spellTools,
  toFormat,
  toToolChoice,
} from './read-tools.js'
import { readTurns } from './read-turns.js'
import { SealedThoughts } from './sealed-reasoning.js'

/** The settings of a request that its reply repeats. */
export interface RepeatedSettings {
  readonly instructions: string | undefined
  readonly tools: readonly JsonObject[]
  readonly toolChoice: unknown
  readonly text: JsonObject
  readonly reasoning: JsonObject
  readonly metadata: unknown
  readonly maxOutputTokens: number | undefined
  /** Those with the same names in a chat, except `metadata`. */
  readonly parameters: JsonObject
}

export interface AskedResponse extends Asked {
  readonly forward: ConversationRequest
  /** May contain references to earlier items. `forward` then has no turns. */
  readonly items: readonly JsonObject[]
  readonly thoughts: SealedThoughts
  readonly settings: RepeatedSettings
  /** The tools that were offered or found, without namespaces. */
  readonly flatTools: SpelledTools['flat']
  readonly calledTools: SpelledTools['called']
  readonly include: ReadonlySet<string>
  /** Whether the items of the reply may be kept for a while. False if `store` is `false`. */
  readonly mayKeep: boolean
}

export const ENCRYPTED_REASONING = 'reasoning.encrypted_content'
export const LOGPROBS = 'message.output_text.logprobs'

/** Fields with the same name and meaning as in a chat. */
export const SHARED_FIELDS = new Set(
  (
    'stream temperature top_p frequency_penalty presence_penalty top_logprobs parallel_tool_calls prompt_cache_key ' +
    'prompt_cache_retention metadata user safety_identifier service_tier stream_options'
  ).split(' '),
)
/** Fields that are read here. */
export const FIELDS = new Set(
  (
    'input instructions max_output_tokens tools tool_choice text reasoning include store truncation max_tool_calls ' +
    'client_metadata previous_response_id conversation background prompt'
  ).split(' '),
)

const NO_STATE = 'No reply is stored here. Send the whole conversation in `input`'
/** Fields that need stored replies, or work that continues after the reply. */
const STATEFUL: ReadonlyMap<string, string> = new Map([
  ['previous_response_id', NO_STATE],
  ['conversation', NO_STATE],
  ['prompt', 'No prompts are stored here. Send its text in `instructions` or `input`'],
])

const ONE_BOUND = 'Use `max_output_tokens` to limit the output'
const NOT_HERE = 'It is a field of POST /chat/completions'
const BOUNDS = new Set(
  'max_tokens max_completion_tokens max_new_tokens n_predict num_predict max_length options generation_config'.split(
    ' ',
  ),
)

/** Fields that no host can allow. Includes those of a chat, since a provider might act on `n` or `max_tokens`. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...[...KNOWN_FIELDS.keys(), 'messages']
    .filter((name) => !SHARED_FIELDS.has(name) && !FIELDS.has(name))
    .map((name) => [name, NOT_HERE] as const),
  ...[...REFUSED_FIELDS].filter(([name]) => name !== 'max_output_tokens'),
  ...[...BOUNDS].map((name) => [name, ONE_BOUND] as const),
])
const SPELLINGS = new Spellings([...OUTLINE_NAMES, ...SHARED_FIELDS, ...FIELDS, ...REFUSED.keys()])

const NOT_PARAMETERS: ReadonlySet<string> = new Set([...OUTLINE_NAMES, ...FIELDS, '__proto__'])

const EFFORT = /^[a-z]{1,16}$/
const MAX_INCLUDED = 64

/**
 * Checks a request body, and splits it into a conversation for providers and the router's own fields. Throws a `CompatError` of
 * status 400, or of status 404 if no model can have the name `model`. Does not change the body.
 */
export function parseResponseRequest(body: JsonObject): AskedResponse {
  refuseState(body)
  const request = openRequest(body, SPELLINGS, REFUSED)
  const { reading } = request
  const parameters = readParameters(body, request, NOT_PARAMETERS)
  const input = readInput(body.input, reading)
  const givenTools = readTools(body.tools, reading)
  const toolChoice = readToolChoice(body.tool_choice, reading)
  const text = readText(body.text, reading)
  const reasoning = readReasoning(body.reasoning, reading)
  const include = readInclude(body.include, reading)
  const maxOutputTokens = readBound(body.max_output_tokens, reading)
  const instructions = readInstructions(body.instructions, reading)
  const { leftOut, model, own, unlisted } = closeRequest(request)
  const { found, items } = toPlainItems(input)
  const tools = spellTools(givenTools, found)
  const { metadata, ...sent } = parameters
  const settings = {
    instructions,
    tools: givenTools,
    toolChoice,
    text,
    reasoning,
    metadata,
    maxOutputTokens,
    parameters: sent,
  }
  // With references, the turns are not known yet.
  const thoughts = new SealedThoughts()
  const turns = items.some(isReference) ? [] : readTurns(instructions, items, thoughts)
  const forwarded = readFields(sent)
  if (tools.functions.length > 0) {
    forwarded.tools = tools.functions
    forwarded.toolChoice = toToolChoice(toolChoice)
  }
  if (maxOutputTokens !== undefined) forwarded.bound = { tokens: maxOutputTokens, param: 'max_tokens' }
  if (text.format !== undefined) forwarded.format = toFormat(text)
  if (isText(text.verbosity)) forwarded.verbosity = text.verbosity
  const { effort } = reasoning
  if (isText(effort)) forwarded.reasoning = { effort, param: 'reasoning_effort' }
  if (include.has(LOGPROBS) || forwarded.topLogprobs !== undefined) forwarded.logprobs = true
  return {
    model,
    stream: parameters.stream === true,
    user: typeof parameters.user === 'string' ? parameters.user : undefined,
    forward: { model, turns, settings: forwarded },
    own,
    unlisted,
    leftOut,
    items,
    thoughts,
    settings,
    flatTools: tools.flat,
    calledTools: tools.called,
    include,
    mayKeep: body.store !== false,
  }
}

function refuseState(body: JsonObject): void {
  for (const [name, why] of STATEFUL) {
    if ((body[name] ?? undefined) !== undefined) throw refused(name, why)
  }
  if (body.store === true) throw refused('store: true', 'No reply is stored here', 'store')
  if (body.background === true)
    throw refused('background: true', 'Replies are sent as they are generated', 'background')
}

function refused(shown: string, why: string, param = shown): CompatError {
  return new CompatError('unsupported_parameter', `${shown} is not accepted. ${why}.`, { param })
}

function readInstructions(value: unknown, { faults }: RequestReading): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  faults.add('instructions', 'must be a string')
  return undefined
}

function readBound(value: unknown, { faults }: RequestReading): number | undefined {
  if (value === undefined || value === null) return undefined
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number
  faults.add('max_output_tokens', 'must be a positive integer')
  return undefined
}

/** Reads the effort, and the request for a summary, which a chat provider cannot fulfil. */
function readReasoning(value: unknown, reading: RequestReading): JsonObject {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) {
    reading.faults.add('reasoning', 'must be an object')
    return {}
  }
  const { effort, generate_summary: older, summary = older } = value
  const read: JsonObject = {}
  if (typeof effort === 'string' && EFFORT.test(effort)) read.effort = effort
  else if ((effort ?? undefined) !== undefined) {
    reading.faults.add('reasoning.effort', 'must be a word of up to 16 lowercase letters')
  }
  if (summary === 'auto' || summary === 'concise' || summary === 'detailed') read.summary = summary
  else if ((summary ?? undefined) !== undefined && summary !== 'none') {
    reading.faults.add('reasoning.summary', 'must be auto, concise or detailed')
  }
  for (const name of Object.keys(value)) {
    if (!REASONING_MEMBERS.has(name) && (value[name] ?? undefined) !== undefined)
      reading.leaveOut('reasoning', name)
  }
  return read
}

const REASONING_MEMBERS = new Set(['effort', 'summary', 'generate_summary'])

function readInclude(value: unknown, { faults }: RequestReading): ReadonlySet<string> {
  if (value === undefined || value === null) return new Set()
  if (
    Array.isArray(value) &&
    value.length <= MAX_INCLUDED &&
    value.every((name) => typeof name === 'string')
  ) {
    return new Set(value)
  }
  faults.add('include', 'must be a list of up to 64 strings')
  return new Set()
}
