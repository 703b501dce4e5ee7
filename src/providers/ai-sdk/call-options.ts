import { CACHE_MARK, CHAT_NAMES, withoutField, writeFields } from '../../conversation/chat-fields.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { effortOf } from '../../conversation/effort.js'
import type { ConversationSettings, OutputFormat, Tool } from '../../conversation/settings.js'
import { unsupported } from '../../conversation/unsupported.js'
import { withDigits } from '../../protocol/exact-data.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'
import { refuseSettings, type TakenSettings } from '../refuse-settings.js'
import { argumentsSchema, type SimpleChoice, simpleChoice } from '../tool-settings.js'
import { type PromptTarget, toPrompt } from './prompt.js'
import type { CallOptions, ProviderOptions, SpecificationVersion } from './specification.js'
import { apiOf, leastOutputOf } from './target-api.js'
import type { AskedFields } from './warnings.js'

const TAKEN: TakenSettings = {
  bound: true,
  choices: false,
  stop: true,
  temperature: true,
  topP: true,
  topK: true,
  frequencyPenalty: true,
  presencePenalty: true,
  seed: true,
  logprobs: false,
  topLogprobs: false,
  tools: true,
  olderTools: false,
  toolChoice: true,
  parallelCalls: false,
  format: true,
  reasoning: true,
  verbosity: false,
  user: true,
  safetyIdentifier: false,
  metadata: false,
  cacheKey: false,
  cacheRetention: false,
  cache: false,
}

/** The settings of a call that have the same names. */
const NUMBERS = ['temperature', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty', 'seed'] as const

/** The settings of a request as a chat or a request for embeddings names them, without its messages or inputs. */
export interface TranslatedRequest {
  readonly model: string
  readonly [field: string]: unknown
}

/** Turns one field's value, never null, into options of the provider. */
export type ParameterTranslation = (value: unknown, request: TranslatedRequest) => ProviderOptions

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
  const { turns } = request
  const { settings, translations } = translate(request, parameters)
  refuseSettings(
    settings.tools.length > 0 ? settings : { ...settings, parallelCalls: true },
    TAKEN,
    () => false,
  )
  const { format, stop } = settings
  const stopSequences = stop.slice(0, mostStops)
  const options: TranslatedCall['options'] = {
    prompt: toPrompt(turns, target, thoughts),
    ...toMaxOutputTokens(settings, target),
    ...toNumbers(settings),
    ...(stopSequences.length !== 0 && { stopSequences }),
    ...toResponseFormat(format),
    ...toToolOptions(settings, target.version),
    ...toReasoning(settings, target.version),
  }
  const providerOptions = merge([ownOptions(format, target), ...translations.map(([, fields]) => fields)])
  if (Object.keys(providerOptions).length > 0) options.providerOptions = providerOptions
  const lost: string[] = stopSequences.length < stop.length ? ['stop'] : []
  if (typeof settings.seed === 'bigint') lost.push('seed')
  return { options, lost, asked: askedFields(settings, options, translations) }
}

type Translations = readonly (readonly [field: string, options: ProviderOptions])[]

/** Returns the options for the fields that the host translates, and the settings without them. */
function translate(
  { model, settings }: ConversationRequest,
  parameters: Translation['parameters'],
): { readonly settings: ConversationSettings; readonly translations: Translations } {
  if (parameters.size === 0) return { settings, translations: [] }
  const request: TranslatedRequest = { ...writeFields(settings), model }
  const given = [...parameters].filter(([field]) => field in request && field !== 'model')
  return {
    settings: given.reduce((left, [field]) => withoutField(left, field), settings),
    translations: given.map(([field, toOptions]) => [field, toOptions(request[field], request)]),
  }
}

/**
 * Packages of OpenAI's API demand a strict schema unless told otherwise, and OpenAI then refuses one with optional
 * properties. They also have the Responses API store each reply. Without that, they ask for encrypted reasoning.
 */
function ownOptions(format: OutputFormat | undefined, target: PromptTarget): ProviderOptions {
  const loose = format?.kind === 'schema' && !format.strict ? { strictJsonSchema: false } : {}
  const openai = apiOf(target) === 'responses' ? { store: false, ...loose } : loose
  if (Object.keys(openai).length === 0) return {}
  return { [target.provider.startsWith('azure') ? 'azure' : 'openai']: openai, openaiCompatible: loose }
}

function askedFields(
  { bound, reasoning }: ConversationSettings,
  options: Partial<CallOptions>,
  translations: Translations,
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
    ...NUMBERS.map((name) => [name, CHAT_NAMES[name]] as const),
    ['maxOutputTokens', bound?.param ?? 'max_tokens'],
    ['stopSequences', 'stop'],
    ['responseFormat', 'response_format'],
    ['tools', 'tools'],
    ['toolChoice', 'tool_choice'],
    ['reasoning', reasoning?.param ?? 'reasoning'],
  ] as const
  for (const [name, field] of settings) {
    if (options[name] !== undefined) asked.set(name, field)
  }
  // Models without a temperature setting use this value, and clients send it by default.
  if (options.temperature === 1) asked.delete('temperature')
  return asked
}

function toNumbers(settings: ConversationSettings): Record<string, number> {
  const numbers: Record<string, number> = {}
  for (const name of NUMBERS) {
    const value = settings[name]
    // A model takes a number of JavaScript, and the one nearest to a seed may be more than 64 bits have.
    if (typeof value === 'number' && !isNeutral(CHAT_NAMES[name], value)) numbers[name] = value
  }
  return numbers
}

function toMaxOutputTokens(
  { bound }: ConversationSettings,
  target: PromptTarget,
): { maxOutputTokens?: number } {
  return bound === undefined ? {} : { maxOutputTokens: Math.max(bound.tokens, leastOutputOf(target)) }
}

function toResponseFormat(format: OutputFormat | undefined): { responseFormat?: JsonObject } {
  if (format === undefined) return {}
  if (format.kind === 'json') return { responseFormat: { type: 'json' } }
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

function toToolOptions(
  { toolChoice, tools }: ConversationSettings,
  version: SpecificationVersion,
): Partial<CallOptions> {
  const written = tools.map((tool, index) => toTool(tool, version, `tools.${index}.type`))
  const choice = simpleChoice(toolChoice, tools)
  if (tools.length === 0) return {}
  return { tools: written, ...(choice !== undefined && { toolChoice: toToolChoice(choice) }) }
}

function toTool(tool: Tool, version: SpecificationVersion, param: string): JsonObject {
  if (tool.kind !== 'function') {
    throw unsupported(param, `${param}: only functions are supported by this provider.`)
  }
  const { name, description, strict, cache } = tool
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    inputSchema: withDigits(argumentsSchema(tool)),
    ...(strict && version !== 'v2' && { strict }),
    ...(cache && { providerOptions: { anthropic: { cacheControl: CACHE_MARK } } }),
  }
}

const toToolChoice = (choice: SimpleChoice): JsonObject =>
  typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name }

/** Versions 2 and 3 have no setting for reasoning, only options of each provider. */
function toReasoning(
  { reasoning }: ConversationSettings,
  version: SpecificationVersion,
): { reasoning?: string } {
  if (reasoning === undefined) return {}
  const { param } = reasoning
  const effort = effortOf(reasoning)
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
