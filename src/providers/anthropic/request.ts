import type { ProviderRequest } from '../../contracts/providers.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { isClaude } from '../../conversation/thoughts.js'
import { unsupported } from '../../conversation/unsupported.js'
import { lacksProperties } from '../../protocol/exact-data.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { otherParameters, refuseParameters } from '../openai-input/others.js'
import { readMaxTokens, readReasoning, readResponseFormat, readStop } from '../openai-input/parameters.js'
import { closedSchema } from './closed-schema.js'
import { toThinking } from './thinking.js'
import { toToolParameters } from './tools.js'
import { lacksThought, toTurns } from './turns.js'
import type { NativeRequest } from './wire.js'

/** Used by callers of the adapter without the router. */
const MAX_TOKENS = 4_096

const READ = new Set([
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning',
  'reasoning_effort',
  'user',
  'cache_control',
])

/** Parameters that the API has under the same name and meaning. */
const UNCHANGED = new Set(['temperature', 'top_p', 'top_k', 'thinking'])

/** The thinking-related parts of a request. A provider may reject them in a conversation that changed models. */
export interface SentThinking {
  /** The thinking of earlier replies. */
  readonly blocks: boolean
  /** A budget for the thinking of this reply. */
  readonly budget: boolean
}

export const ALL_THINKING: SentThinking = { blocks: true, budget: true }

const isBudget = (thinking: unknown) => isObject(thinking) && thinking.type === 'enabled'

/** Settings that the API does not take in every request. */
const SAMPLING = ['temperature', 'top_p', 'top_k'] as const
/** While a model thinks, the API takes no smaller `top_p`. */
const LEAST_TOP_P_OF_THINKING = 0.95

/**
 * Converts a conversation to the format of the Messages API.
 *
 * - The API requires a limit on output tokens: `max_completion_tokens`, or else `max_tokens`. The router always sends
 *   one.
 * - `json_schema` becomes the API's own structured output. Its objects get the `additionalProperties: false` that the API
 *   demands, if the schema does not say which others they have. `json_object` needs a schema too, and a schema properties.
 * - `user` becomes `metadata.user_id`. `top_k`, `thinking` and `cache_control` are passed on unchanged.
 * - A thinking budget is omitted while the model answers results of calls that another provider's model made: the API
 *   would reject them, because no signed thought precedes them.
 * - While a model thinks, the API forces no tool, and takes neither `top_k` nor a temperature or `top_p` that changes much.
 *   An effort therefore yields to a forced tool, and those settings yield to an effort. Newer models of Claude take a
 *   temperature or `top_p`, not both: the latter is omitted.
 * - A parameter that the API cannot express throws `unsupported-request` with its name, unless its value asks for the
 *   default behaviour (`n: 1`, `frequency_penalty: 0`, `temperature: 1`, …).
 */
export function toNativeRequest(
  request: ConversationRequest,
  stream: boolean,
  { blocks, budget }: SentThinking = ALL_THINKING,
): NativeRequest {
  const others = otherParameters(request, READ)
  const { thinking: given, ...same } = takeUnchanged(others)
  refuseParameters(others)
  const { model } = request
  const maxTokens = readMaxTokens(request) ?? MAX_TOKENS
  const { system, turns } = toTurns(request.turns, model, blocks)
  const stop = readStop(request)
  const reasoning = readReasoning(request)
  const { thinking: wanted, effort } = reasoning ? toThinking(reasoning, model, maxTokens) : {}
  const tools = toToolParameters(request)
  const asked = isForcing(tools.tool_choice) && wanted?.type !== 'disabled' ? undefined : wanted
  const thinking = given ?? asked
  const mayThink = !isBudget(thinking) || (budget && !(isClaude(model) && lacksThought(turns)))
  const outputConfig = { ...(effort && { effort }), ...toOutputFormat(request) }
  return {
    model: request.model,
    max_tokens: maxTokens,
    ...(system.length !== 0 && { system }),
    messages: turns,
    ...tools,
    ...(stop.length !== 0 && { stop_sequences: stop }),
    ...(thinking && mayThink && { thinking }),
    ...(Object.keys(outputConfig).length !== 0 && { output_config: outputConfig }),
    ...(typeof request.user === 'string' && { metadata: { user_id: request.user } }),
    ...(Boolean(request.cache_control) && { cache_control: request.cache_control }),
    ...(given === undefined ? samplingBeside(mayThink ? asked : undefined, same, model) : same),
    ...(stream && { stream }),
  }
}

const isForcing = (choice: JsonObject | undefined) => choice?.type === 'any' || choice?.type === 'tool'

/** Returns the settings that the API takes together, and with this thinking. */
function samplingBeside(thinking: JsonObject | undefined, given: JsonObject, model: string): JsonObject {
  const { temperature, top_p: topP, ...others } = given
  if (thinking !== undefined && thinking.type !== 'disabled') {
    return typeof topP === 'number' && topP >= LEAST_TOP_P_OF_THINKING ? { top_p: topP } : {}
  }
  return temperature === undefined || topP === undefined || !isClaude(model)
    ? given
    : { ...others, temperature }
}

/** The names of the settings that a request left out, as far as they change the reply. */
export function lossesOf(request: ConversationRequest, sent: NativeRequest): readonly string[] {
  const lost: string[] = SAMPLING.filter((name) => (request[name] ?? 1) !== 1 && sent[name] === undefined)
  const { effort = 'none' } = readReasoning(request) ?? {}
  if (effort !== 'none' && sent.thinking === undefined)
    lost.push((request.reasoning_effort ?? null) === null ? 'reasoning' : 'reasoning_effort')
  return lost
}

/**
 * Removes and returns the parameters that are passed on unchanged. A temperature of 1 is the API's default, and some
 * models reject any temperature.
 */
function takeUnchanged(others: Map<string, unknown>): JsonObject {
  if (others.get('temperature') === 1) others.delete('temperature')
  if (others.has('thinking') && !isObject(others.get('thinking'))) {
    throw unsupported('thinking', 'thinking must be an object.')
  }
  const same: Record<string, unknown> = {}
  for (const field of UNCHANGED) {
    if (!others.has(field)) continue
    same[field] = others.get(field)
    others.delete(field)
  }
  return same
}

function toOutputFormat(request: ProviderRequest): JsonObject {
  const format = readResponseFormat(request)
  if (format === undefined) return {}
  if (format.type === 'json') {
    throw unsupported(
      'response_format.type',
      'response_format.type "json_object" is not supported by this provider; use "json_schema".',
    )
  }
  const { schema } = format
  if (lacksProperties(schema)) {
    throw unsupported(
      'response_format.json_schema.schema',
      'response_format.json_schema.schema: this provider needs the properties of an object.',
    )
  }
  return { format: { type: 'json_schema', schema: closedSchema(schema) } }
}
