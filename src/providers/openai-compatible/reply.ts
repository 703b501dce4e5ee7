import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/providers.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { fromLatin1 } from '../../protocol/latin1.js'
import { parseLoosely, parseProviderObject, readFrame } from '../provider-json.js'
import { frameError } from '../upstream-errors.js'
import { isPlainLine } from './plain-line.js'
import { readUsage, type UnlistedTokens } from './usage.js'

/** Reads one event of a stream. Returns `true` for `[DONE]`. */
export function readEvent(
  data: string,
  type: string | undefined,
  events: ProviderEvent[],
  unlistedTokens: UnlistedTokens,
): boolean {
  if (data.startsWith('[DONE]')) return true
  if (type === 'error') throw frameError(parseLoosely(fromLatin1(data)))
  if (isPlainLine(data)) {
    events.push({ type: 'data', bytes: data })
    return false
  }
  // Vertex AI keeps streams of its partners' models alive with comments sent as data.
  if (data.trim() === '' || data.startsWith(':')) return false
  for (const reply of readFrame(fromLatin1(data), type, events)) readChunk(reply, events, unlistedTokens)
  return false
}

function readChunk(reply: JsonObject, events: ProviderEvent[], unlistedTokens: UnlistedTokens): void {
  const report = readUsage(usageOf(reply), unlistedTokens)
  if (isFailure(reply)) {
    if (report !== undefined) events.push({ type: 'usage', usage: report })
    throw frameError(reply)
  }
  events.push({ type: 'chunk', chunk: withLabels(reply, readChoices(reply.choices)?.map(withoutUsage)) })
  if (report !== undefined) events.push({ type: 'usage', usage: report })
}

/** Reads a reply in one body. */
export function readBody(json: Buffer, events: ProviderEvent[], unlistedTokens: UnlistedTokens): void {
  const reply = parseProviderObject(json.toString())
  if (isFailure(reply)) throw frameError(reply)
  const choices = readChoices(reply.choices)
  if (choices === undefined) throw new ProviderError('invalid-response', 'The reply has no list of choices.')
  const report = readUsage(usageOf(reply), unlistedTokens)
  events.push({ type: 'completion', completion: withLabels(reply, choices.map(withoutUsage)) })
  if (report !== undefined) events.push({ type: 'usage', usage: report })
}

function readChoices(choices: unknown): readonly unknown[] | undefined {
  if (choices === undefined || choices === null) return undefined
  if (Array.isArray(choices)) return choices
  throw new ProviderError('invalid-response', 'The choices of the reply are not a list.')
}

/** Groq repeats its usage in `x_groq`, or sends it only there. Moonshot puts it in the last choice. */
function usageOf({ choices, usage, x_groq: groq }: JsonObject): unknown {
  const stated = usage ?? (isObject(groq) ? groq.usage : undefined)
  if (stated !== undefined && stated !== null) return stated
  const only = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined
  return isObject(only) ? only.usage : undefined
}

/** Returns the choices with all other members of a reply, except its usage and an empty error. */
function withLabels<Choices>(reply: JsonObject, choices: Choices) {
  const { error: _error, usage: _usage, x_groq: _groq, ...labels } = reply
  return Object.assign(labels, { choices })
}

function withoutUsage(choice: unknown): unknown {
  if (!isObject(choice) || !('usage' in choice)) return choice
  const { usage: _, ...rest } = choice
  return rest
}

/**
 * Some servers include an empty error in every reply, but an empty error without choices is a failure. DeepInfra puts
 * an error message at the top level of a chunk without choices; the relay recognises it in a line that passed
 * unparsed. Groq reports in `x_groq` why it stopped a stream early.
 */
function isFailure({
  choices,
  error: own,
  error_message: message,
  object,
  x_groq: groq,
}: JsonObject): boolean {
  if (typeof message === 'string' && !Array.isArray(choices)) return true
  const error = own ?? (isObject(groq) ? groq.error : undefined)
  if (error === undefined || error === null) return object === 'error' && choices === undefined
  return !Array.isArray(choices) || !isEmpty(error)
}

function isEmpty(error: unknown): boolean {
  return isObject(error) ? Object.keys(error).length === 0 : error === '' || error === false
}
