import type { ProviderRequest } from '../../contracts/providers.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { unsupported } from '../../conversation/unsupported.js'
import { ExactInteger, withDigits } from '../../protocol/exact-data.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { otherParameters, refuseParameters } from '../openai-input/others.js'
import { readMaxTokens, readReasoning, readResponseFormat, readStop } from '../openai-input/parameters.js'
import { type InputToolChoice, readToolChoice, readTools } from '../openai-input/tools.js'
import { type PromptTarget, toPrompt } from './prompt.js'
import type { CallOptions, ProviderOptions, SpecificationVersion } from './specification.js'
import { apiOf, leastOutputOf } from './target-api.js'
import type { AskedFields } from './warnings.js'

const READ = new Set([
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'tools',
  'tool_choice',
  'response_format',
  'reasoning',
  'reasoning_effort',
  'user',
])

const NUMBERS = new Map([
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['seed', 'seed'],
] as const)

/** Turns one field's value, never null, into options of the provider. */
export type ParameterTranslation = (value: unknown, request: ProviderRequest) => ProviderOptions

export interface TranslatedCall {
  readonly options: Omit<CallOptions, 'abortSignal'>
  readonly asked: AskedFields
  /** Fields that the model cannot be sent as they are. */
  readonly lost: readonly string[]
}

export interface Translation {
  readonly target: PromptTarget
  readonly parameters: ReadonlyMap<string, ParameterTranslation>
  /** Whether the reasoning of earlier replies is sent. */
  readonly thoughts: boolean
  /** The most stop sequences that are sent. */
  readonly mostStops: number
}

/**
 * Converts a conversation to the call options of an AI SDK model, without its signal. Also returns which
 * field asked for which option.
 *
 * A field without a counterpart in the specification is converted by its function in `parameters`. Without a function,
 * throws `unsupported-request` with the field's name, unless its value asks for the default behaviour. Ignores `user` and,
 * in version 2, `strict` of a tool.
 */
export function toCallOptions(
  request: ConversationRequest,
  { target, parameters, thoughts, mostStops }: Translation,
): TranslatedCall {
  const { version } = target
  const translated = [...parameters].filter(
    ([field]) => request[field] !== undefined && request[field] !== null,
  )
  const translatedFields = new Set(translated.map(([field]) => field))
  const rest = Object.fromEntries(Object.entries(request).filter(([field]) => !translatedFields.has(field)))
  const untranslated: ConversationRequest = { ...rest, model: request.model, turns: request.turns }
  const others = otherParameters(untranslated, READ)
  const hasTools = Array.isArray(request.tools) && request.tools.length > 0
  if (!hasTools || others.get('parallel_tool_calls') === true) others.delete('parallel_tool_calls')
  // A model takes a number of JavaScript, and the nearest one may be more than 64 bits have.
  const losesSeed = others.get('seed') instanceof ExactInteger && others.delete('seed')
  const numbers = takeNumbers(others)
  refuseParameters(others)
  const stops = readStop(untranslated)
  const stopSequences = stops.slice(0, mostStops)
  const translations = translated.map(
    ([field, translate]) => [field, translate(request[field], request)] as const,
  )
  const options: TranslatedCall['options'] = {
    prompt: toPrompt(request.turns, target, thoughts),
    ...toMaxOutputTokens(untranslated, target),
    ...numbers,
    ...(stopSequences.length !== 0 && { stopSequences }),
    ...toResponseFormat(untranslated),
    ...toToolOptions(untranslated, version),
    ...toReasoning(untranslated, version),
  }
  const providerOptions = merge([
    ownOptions(untranslated, target),
    ...translations.map(([, fields]) => fields),
  ])
  if (Object.keys(providerOptions).length > 0) options.providerOptions = providerOptions
  const lost = [...(stopSequences.length < stops.length ? ['stop'] : []), ...(losesSeed ? ['seed'] : [])]
  return { options, lost, asked: askedFields(untranslated, options, translations) }
}

/**
 * Packages of OpenAI's API demand a strict schema unless told otherwise, and OpenAI then refuses one with optional
 * properties. They also have the Responses API store each reply. Without that, they ask for encrypted reasoning.
 */
function ownOptions(request: ProviderRequest, target: PromptTarget): ProviderOptions {
  const format = readResponseFormat(request)
  const loose = format?.type === 'json-schema' && !format.strict ? { strictJsonSchema: false } : {}
  const openai = apiOf(target) === 'responses' ? { store: false, ...loose } : loose
  if (Object.keys(openai).length === 0) return {}
  return { [target.provider.startsWith('azure') ? 'azure' : 'openai']: openai, openaiCompatible: loose }
}

function askedFields(
  request: ProviderRequest,
  options: Partial<CallOptions>,
  translations: readonly (readonly [field: string, options: ProviderOptions])[],
): AskedFields {
  const asked = new Map<string, string>()
  for (const [field, all] of translations) {
    for (const [provider, fields] of Object.entries(all)) {
      for (const name of Object.keys(fields)) {
        asked.set(name, field).set(`providerOptions.${provider}.${name}`, field)
      }
    }
  }
  const settings = [
    ...[...NUMBERS].map(([field, name]) => [name, field] as const),
    ['maxOutputTokens', maxTokensField(request)],
    ['stopSequences', 'stop'],
    ['responseFormat', 'response_format'],
    ['tools', 'tools'],
    ['toolChoice', 'tool_choice'],
    ['reasoning', readReasoning(request)?.param ?? 'reasoning'],
  ] as const
  for (const [name, field] of settings) {
    if (options[name] !== undefined) asked.set(name, field)
  }
  // Models without a temperature setting use this value, and clients send it by default.
  if (options.temperature === 1) asked.delete('temperature')
  return asked
}

function takeNumbers(others: Map<string, unknown>): Record<string, number> {
  const numbers: Record<string, number> = {}
  for (const [field, name] of NUMBERS) {
    const value = others.get(field)
    if (value === undefined) continue
    if (typeof value !== 'number') throw unsupported(field, `${field} must be a number.`)
    others.delete(field)
    numbers[name] = value
  }
  return numbers
}

function toMaxOutputTokens(request: ProviderRequest, target: PromptTarget): { maxOutputTokens?: number } {
  const value = readMaxTokens(request)
  if (value === undefined) return {}
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    const field = maxTokensField(request)
    throw unsupported(field, `${field} must be a positive integer.`)
  }
  return { maxOutputTokens: Math.max(value, leastOutputOf(target)) }
}

const maxTokensField = ({ max_completion_tokens }: ProviderRequest) =>
  max_completion_tokens === undefined || max_completion_tokens === null
    ? 'max_tokens'
    : 'max_completion_tokens'

function toResponseFormat(request: ProviderRequest): { responseFormat?: JsonObject } {
  const format = readResponseFormat(request)
  if (format === undefined) return {}
  if (format.type === 'json') return { responseFormat: { type: 'json' } }
  const { schema, name, description } = format
  return {
    responseFormat: {
      type: 'json',
      schema: withDigits(schema),
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
    },
  }
}

function toToolOptions(request: ProviderRequest, version: SpecificationVersion): Partial<CallOptions> {
  const tools = readTools(request).map((input) => {
    if (input.kind === 'other') {
      throw unsupported(input.param, `${input.param}: only functions are supported by this provider.`)
    }
    const { name, description, parameters, strict, cache } = input.tool
    return {
      type: 'function',
      name,
      ...(description !== undefined && { description }),
      inputSchema: withDigits(parameters),
      ...(strict && version !== 'v2' && { strict }),
      ...(cache && { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }),
    }
  })
  const choice = readToolChoice(request)
  if (tools.length > 0) return { tools, ...(choice !== undefined && { toolChoice: toToolChoice(choice) }) }
  if (choice !== undefined && choice !== 'auto' && choice !== 'none') {
    throw unsupported('tool_choice', 'tool_choice asks for a tool, but there are no tools.')
  }
  return {}
}

const toToolChoice = (choice: InputToolChoice): JsonObject =>
  typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name }

/** Versions 2 and 3 have no setting for reasoning, only options of each provider. */
function toReasoning(request: ProviderRequest, version: SpecificationVersion): { reasoning?: string } {
  const reasoning = readReasoning(request)
  if (reasoning === undefined) return {}
  const { effort, param } = reasoning
  if (version === 'v4' && effort !== undefined) return { reasoning: effort }
  throw unsupported(param, `${param} is not supported by this provider.`)
}

function merge(all: readonly ProviderOptions[]): ProviderOptions {
  const merged: Record<string, JsonObject> = {}
  for (const options of all) {
    for (const [provider, fields] of Object.entries(options)) {
      merged[provider] = { ...merged[provider], ...fields }
    }
  }
  return merged
}
