import { CACHE_MARK, reasoningField } from '../../conversation/chat-fields.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { effortOf } from '../../conversation/effort.js'
import type { ConversationSettings, OutputFormat } from '../../conversation/settings.js'
import { isClaude } from '../../conversation/thoughts.js'
import { unsupported } from '../../conversation/unsupported.js'
import { lacksProperties } from '../../protocol/exact-data.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'
import { refuseSettings, type TakenSettings } from '../refuse-settings.js'
import { closedSchema } from './closed-schema.js'
import { toThinking } from './thinking.js'
import { toToolParameters } from './tools.js'
import { lacksThought, toTurns } from './turns.js'
import type { NativeRequest } from './wire.js'

/** Used by callers of the adapter without the router. */
const MAX_TOKENS = 4_096

const TAKEN: TakenSettings = {
  bound: true,
  choices: false,
  stop: true,
  temperature: true,
  topP: true,
  topK: true,
  frequencyPenalty: false,
  presencePenalty: false,
  seed: false,
  logprobs: false,
  topLogprobs: false,
  tools: true,
  olderTools: false,
  toolChoice: true,
  parallelCalls: true,
  format: true,
  reasoning: true,
  verbosity: false,
  user: true,
  safetyIdentifier: false,
  metadata: false,
  cacheKey: false,
  cacheRetention: false,
  cache: true,
}

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
const SAMPLING = [
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['topK', 'top_k'],
] as const
/** While a model thinks, the API takes no smaller `top_p`. */
const LEAST_TOP_P_OF_THINKING = 0.95

/**
 * Converts a conversation to the format of the Messages API.
 *
 * - The API requires a limit on output tokens. The router always sends one.
 * - A format with a schema becomes the API's own structured output. Its objects get the `additionalProperties: false` that
 *   the API demands, if the schema does not say which others they have. A schema must have properties.
 * - `user` becomes `metadata.user_id`. A `thinking` of the client's is passed on unchanged.
 * - A thinking budget is omitted while the model answers results of calls that another provider's model made: the API
 *   would reject them, because no signed thought precedes them.
 * - While a model thinks, the API forces no tool, and takes neither `top_k` nor a temperature or `top_p` that changes much.
 *   An effort therefore yields to a forced tool, and those settings yield to an effort. Newer models of Claude take a
 *   temperature or `top_p`, not both: the latter is omitted.
 * - A setting that the API cannot express throws `unsupported-request` with its name in a chat, unless its value asks for
 *   the default behaviour (`n: 1`, `frequency_penalty: 0`, …).
 */
export function toNativeRequest(
  request: ConversationRequest,
  stream: boolean,
  { blocks, budget }: SentThinking = ALL_THINKING,
): NativeRequest {
  const { model, settings } = request
  refuseSettings(settings, TAKEN, (field) => field === 'thinking')
  const { cache, format, reasoning, stop, user } = settings
  const { thinking: given = undefined } = settings.others
  if (given !== undefined && !isObject(given)) {
    throw unsupported('thinking', 'thinking must be an object.')
  }
  const same = samplingOf(settings)
  const maxTokens = settings.bound?.tokens ?? MAX_TOKENS
  const { system, turns } = toTurns(request.turns, model, blocks)
  const { thinking: wanted, effort } = reasoning ? toThinking(reasoning, model, maxTokens) : {}
  const tools = toToolParameters(settings)
  const asked = isForcing(tools.tool_choice) && wanted?.type !== 'disabled' ? undefined : wanted
  const thinking = given ?? asked
  const mayThink = !isBudget(thinking) || (budget && !(isClaude(model) && lacksThought(turns)))
  const outputConfig = { ...(effort && { effort }), ...toOutputFormat(format) }
  return {
    model,
    max_tokens: maxTokens,
    ...(system.length !== 0 && { system }),
    messages: turns,
    ...tools,
    ...(stop.length !== 0 && { stop_sequences: stop }),
    ...(thinking && mayThink && { thinking }),
    ...(Object.keys(outputConfig).length !== 0 && { output_config: outputConfig }),
    ...(user !== undefined && { metadata: { user_id: user } }),
    ...(cache && { cache_control: CACHE_MARK }),
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
export function lossesOf({ settings }: ConversationRequest, sent: NativeRequest): readonly string[] {
  const lost: string[] = SAMPLING.filter(
    ([member, name]) => (settings[member] ?? 1) !== 1 && sent[name] === undefined,
  ).map(([, name]) => name)
  const { reasoning } = settings
  if (reasoning !== undefined && (effortOf(reasoning) ?? 'none') !== 'none' && sent.thinking === undefined)
    lost.push(reasoningField(reasoning))
  return lost
}

/**
 * Returns the settings that are passed on unchanged. A temperature of 1 is the API's default, and some models reject any
 * temperature.
 */
function samplingOf(settings: ConversationSettings): JsonObject {
  const same: JsonObject = {}
  for (const [member, name] of SAMPLING) {
    const value = settings[member]
    if (value === undefined || isNeutral(name, value) || (name === 'temperature' && value === 1)) continue
    same[name] = value
  }
  return same
}

function toOutputFormat(format: OutputFormat | undefined): JsonObject {
  if (format === undefined) return {}
  if (format.kind === 'json') {
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
