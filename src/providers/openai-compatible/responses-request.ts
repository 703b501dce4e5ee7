import { randomUUID } from 'node:crypto'
import { callIdsFor } from '../../conversation/call-ids.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { type CallsAndResults, NO_RESULT, orphanWords, settleResults } from '../../conversation/results.js'
import { unsupported } from '../../conversation/unsupported.js'
import { writeExactly } from '../../protocol/exact-data.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { isNeutral, KNOWN_FIELDS } from '../../protocol/request-fields/known-fields.js'
import type { ResponsesRequest } from '../../protocol/responses-request.js'
import { idForResponses } from '../openai-input/call-ids.js'
import { readMaxTokens, readReasoning } from '../openai-input/parameters.js'
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
  const given = items.filter(isCall).map(callId)
  const ids = callIdsFor(given, idForResponses)
  if (ids === undefined) return items
  return items.map((item) => {
    if (isCall(item)) return { ...item, call_id: ids.ofCall(callId(item)) }
    return isResult(item) ? { ...item, call_id: ids.ofResult(callId(item)) } : item
  })
}

/** Members of a conversation that are read here. */
const READ = new Set(
  (
    'model turns stream stream_options max_tokens max_completion_tokens tools tool_choice response_format ' +
    'verbosity reasoning reasoning_effort logprobs metadata'
  ).split(' '),
)
/** Fields with the same name and meaning. */
const SAME = new Set(
  'temperature top_p top_logprobs parallel_tool_calls prompt_cache_key prompt_cache_retention user safety_identifier'.split(
    ' ',
  ),
)

/**
 * Converts a conversation to a request of the Responses API. A field that it cannot express throws `unsupported-request`,
 * unless its value asks for the default behaviour. Fields that need the host's permission are passed on.
 */
export function toResponsesRequest(request: ConversationRequest): ResponsesRequest {
  const converted: ResponsesRequest = { model: request.model, input: itemsOf(request.turns) }
  for (const [field, value] of Object.entries(request)) {
    if (value === null || value === undefined || READ.has(field)) continue
    const isRefused = KNOWN_FIELDS.has(field) && !SAME.has(field)
    if (!isRefused) converted[field] = value
    else if (!isNeutral(field, value)) {
      throw unsupported(
        field,
        `${field}: this parameter, or this value of it, is not supported by this provider.`,
      )
    }
  }
  const { logprobs, response_format: format, tool_choice: choice, tools, verbosity } = request
  const maxTokens = readMaxTokens(request)
  if (maxTokens !== undefined) converted.max_output_tokens = maxTokens
  if (Array.isArray(tools)) converted.tools = tools.filter(isObject).map(toTool)
  if (choice !== undefined) converted.tool_choice = toChoice(choice)
  const text = { ...toFormat(format), ...(verbosity !== undefined && { verbosity }) }
  if (Object.keys(text).length > 0) converted.text = text
  const reasoning = readReasoning(request)
  if (reasoning?.maxTokens !== undefined) {
    throw unsupported(reasoning.param, `${reasoning.param} is not supported by this provider; use an effort.`)
  }
  const include = logprobs === true ? ['message.output_text.logprobs'] : []
  if (reasoning !== undefined) {
    converted.reasoning = { effort: reasoning.effort, summary: 'auto' }
    if (reasoning.effort !== 'none') include.push('reasoning.encrypted_content')
  }
  if (include.length > 0) converted.include = include
  return converted
}

function toTool(tool: JsonObject): JsonObject {
  const { custom, function: definition, type } = tool
  if (isObject(definition)) return { type, ...definition }
  if (!isObject(custom)) return tool
  const { format, ...rest } = custom
  if (!isObject(format)) return { type, ...rest }
  return {
    type,
    ...rest,
    format: isObject(format.grammar) ? { type: format.type, ...format.grammar } : format,
  }
}

function toChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice === 'any' ? 'required' : choice
  const { allowed_tools: allowed, custom, function: called, type } = choice
  if (!isObject(allowed)) return { type, ...(isObject(called) ? called : (custom as JsonObject)) }
  const { mode, tools } = allowed
  return { type, mode, tools: Array.isArray(tools) ? tools.map(toChoice) : [] }
}

function toFormat(format: unknown): JsonObject {
  if (!isObject(format)) return {}
  const { json_schema: schema, type } = format
  if (type === 'json_object' && isObject(format.schema)) {
    return { format: { type: 'json_schema', name: 'reply', schema: format.schema } }
  }
  return { format: isObject(schema) ? { type, name: 'reply', ...schema } : { type } }
}
