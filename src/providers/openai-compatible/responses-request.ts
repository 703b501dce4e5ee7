import { randomUUID } from 'node:crypto'
import { callIdsFor } from '../../conversation/call-ids.js'
import { CHAT_NAMES } from '../../conversation/chat-fields.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { effortOf } from '../../conversation/effort.js'
import { type CallsAndResults, NO_RESULT, orphanWords, settleResults } from '../../conversation/results.js'
import type { OutputFormat, Tool, ToolChoice, ToolReference } from '../../conversation/settings.js'
import { unsupported } from '../../conversation/unsupported.js'
import { writeExactly } from '../../protocol/exact-data.js'
import { type JsonObject, textOf } from '../../protocol/json-values.js'
import { KNOWN_FIELDS } from '../../protocol/request-fields/known-fields.js'
import type { ResponsesRequest } from '../../protocol/responses-request.js'
import { idForResponses } from '../openai-input/call-ids.js'
import { refuseSettings, type TakenSettings } from '../refuse-settings.js'
import { fittingFields } from './limits.js'
import { itemsOf } from './responses-items.js'

/** How a request is sent. */
export interface ResponsesForm {
  /** Whether the reasoning of earlier replies is sent. */
  readonly reasoning: boolean
  /** Fields that the provider does not know, and that the request can do without. */
  readonly omitted: readonly string[]
}

/** Returns the JSON body to post. Nothing is ever stored at the provider. */
export function buildResponsesBody(
  request: ResponsesRequest,
  stream: boolean,
  { omitted, reasoning }: ResponsesForm,
): string {
  const sent = reasoning ? request.input : request.input.filter(({ type }) => type !== 'reasoning')
  const input = withFittingIds(settleResults(sent, CALLS))
  const body: JsonObject = Object.assign({}, request, fittingFields(request), {
    input,
    store: false,
    stream: stream ? true : undefined,
  })
  for (const name of omitted) body[name] = undefined
  return writeExactly(body, randomUUID)
}

const OF_REPLIES = new Set<unknown>(['reasoning', 'function_call', 'custom_tool_call'])
const RESULTS: ReadonlyMap<unknown, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
])
const RESULT_TYPES = new Set<unknown>(RESULTS.values())

const isCall = ({ type }: JsonObject): boolean => RESULTS.has(type)
const isResult = ({ type }: JsonObject): boolean => RESULT_TYPES.has(type)
const callId = ({ call_id: id }: JsonObject): string => textOf(id) ?? ''

const CALLS: CallsAndResults<JsonObject> = {
  callsOf: (item) => (isCall(item) ? [callId(item)] : []),
  resultOf: (item) => (isResult(item) ? callId(item) : undefined),
  continuesReply: ({ role, type }) => role === 'assistant' || OF_REPLIES.has(type),
  missing: (id, { type }) => ({ type: RESULTS.get(type), call_id: id, output: NO_RESULT }),
  saidBy: ({ output }) => output,
  orphan: ({ output }, id) => {
    const words = { type: 'input_text', text: orphanWords(id) }
    const said = Array.isArray(output) ? output : [{ type: 'input_text', text: String(output) }]
    return { type: 'message', role: 'user', content: [words, ...said] }
  },
}

/** Returns the items with ids of calls that the API takes, each only once. */
function withFittingIds(items: readonly JsonObject[]): readonly JsonObject[] {
  const ids = callIdsFor(items, CALLS, idForResponses)
  if (ids === undefined) return items
  return items.map((item) => {
    if (isCall(item)) return { ...item, call_id: ids.ofCall(callId(item)) }
    return isResult(item) ? { ...item, call_id: ids.ofResult(callId(item)) } : item
  })
}

const TAKEN: TakenSettings = {
  bound: true,
  choices: false,
  stop: false,
  temperature: true,
  topP: true,
  topK: false,
  frequencyPenalty: false,
  presencePenalty: false,
  seed: false,
  logprobs: true,
  topLogprobs: true,
  tools: true,
  olderTools: false,
  toolChoice: true,
  parallelCalls: true,
  format: true,
  reasoning: true,
  verbosity: true,
  user: true,
  safetyIdentifier: true,
  metadata: true,
  cacheKey: true,
  cacheRetention: true,
  cache: false,
}

/** Settings with the same name and meaning as in a chat. */
const SAME = [
  'temperature',
  'topP',
  'topLogprobs',
  'parallelCalls',
  'cacheKey',
  'cacheRetention',
  'user',
  'safetyIdentifier',
] as const

/**
 * Converts a conversation to a request of the Responses API. A setting that it cannot express throws
 * `unsupported-request`, unless its value asks for the default behaviour. Fields that need the host's permission are
 * passed on.
 */
export function toResponsesRequest({ model, settings, turns }: ConversationRequest): ResponsesRequest {
  const { bound, format, logprobs, others, reasoning, toolChoice, tools, verbosity } = settings
  const hasField = (field: string) => !KNOWN_FIELDS.has(field)
  refuseSettings(settings, TAKEN, hasField)
  const converted: ResponsesRequest = { model, input: itemsOf(turns) }
  for (const member of SAME) converted[CHAT_NAMES[member]] = settings[member]
  for (const field of Object.keys(others)) if (hasField(field)) converted[field] = others[field]
  if (bound !== undefined) converted.max_output_tokens = bound.tokens
  if (tools.length > 0) converted.tools = tools.map(toTool)
  if (toolChoice !== undefined) converted.tool_choice = toChoice(toolChoice)
  if (format !== undefined || verbosity !== undefined) {
    converted.text = { ...(format !== undefined && { format: toFormat(format) }), verbosity }
  }
  const include = logprobs ? ['message.output_text.logprobs'] : []
  if (reasoning !== undefined) {
    const effort = effortOf(reasoning)
    if (effort === undefined) {
      const { param } = reasoning
      throw unsupported(param, `${param} is not supported by this provider; use an effort.`)
    }
    converted.reasoning = { effort, summary: 'auto' }
    if (effort !== 'none') include.push('reasoning.encrypted_content')
  }
  if (include.length > 0) converted.include = include
  return converted
}

function toTool(tool: Tool): JsonObject {
  switch (tool.kind) {
    case 'provider':
      return tool.definition
    case 'function': {
      const { description, name, parameters, strict } = tool
      return { type: 'function', name, description, parameters, strict }
    }
    case 'custom': {
      const { description, grammar, name } = tool
      return { type: 'custom', name, description, format: grammar && { type: 'grammar', ...grammar } }
    }
  }
}

function toChoice(choice: ToolChoice): unknown {
  if (typeof choice === 'string') return choice
  if (choice.kind !== 'allowed') return toReference(choice)
  return { type: 'allowed_tools', mode: choice.mode, tools: choice.tools.map(toReference) }
}

function toReference({ kind, name }: ToolReference): JsonObject {
  return { type: kind, name }
}

function toFormat(format: OutputFormat): JsonObject {
  if (format.kind === 'json') return { type: 'json_object' }
  const { description, name = 'reply', schema, strict } = format
  return { type: 'json_schema', name, description, schema, strict }
}
