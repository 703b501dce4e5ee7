import { ProviderError } from '../../errors.js'
import {
  type FinishReason,
  isFailureReason,
  isKnownReason,
  mapFinishReason,
  readFinishReason,
} from '../../protocol/finish-reason.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { fromLatin1, isAscii } from '../../protocol/latin1.js'
import { cleanLabel } from '../../protocol/text.js'
import { invalidReply, mendText } from './delta.js'
import { mendToolCalls } from './tool-calls.js'

/** A reply whose strings are latin1, with the text that they spell. */
export function asText(completion: JsonObject): JsonObject {
  return JSON.parse(fromLatin1(JSON.stringify(completion))) as JsonObject
}

/** Whether the finish reasons, which are not only passed on but cleaned, are the same as text and as latin1. */
export function hasAsciiReasons({ choices }: JsonObject): boolean {
  if (!Array.isArray(choices)) return true
  for (const choice of choices) {
    const reason = isObject(choice) ? choice.finish_reason : undefined
    if (typeof reason === 'string' && !isKnownReason(reason) && !isAscii(reason)) return false
  }
  return true
}

/** The choices of a reply in one body by their index, each brought to the shape that every client reads. */
export function mendChoices(choices: unknown, n: number, newToolCallId: () => string): WholeChoice[] {
  if (!Array.isArray(choices)) throw invalidReply('choices is not a list')
  const mended: WholeChoice[] = []
  for (let position = 0; position < choices.length; position++) {
    const choice: unknown = choices[position]
    if (!isObject(choice)) throw invalidReply('a choice is not an object')
    const index = choiceIndex(choice.index, position, n)
    if (mended.some((other) => other.index === index)) throw invalidReply('two choices have one index')
    mended.push(mendChoice(choice, index, newToolCallId))
  }
  return mended.sort((one, other) => one.index - other.index)
}

/** A choice of a reply in one body. */
export interface WholeChoice extends JsonObject {
  readonly index: number
  readonly message: JsonObject
  readonly finish_reason: FinishReason
  /** As the provider gave it. */
  readonly native_finish_reason: string | undefined
}

/** A choice's index: the position where it has none. */
export function choiceIndex(index: unknown, position: number, n: number): number {
  const given = index ?? position
  if (typeof given !== 'number' || !Number.isInteger(given) || given < 0 || given >= n) {
    throw invalidReply(`the index of a choice is not below ${n}`)
  }
  return given
}

/**
 * The choices of a whole reply as the choices of a single chunk, for a client that asked for a stream. One to which the
 * provider gave no finish reason has none here either.
 */
export function asChunkChoices(choices: readonly WholeChoice[]): JsonObject[] {
  return choices.map(({ message, native_finish_reason: native, finish_reason: _mapped, ...choice }) => {
    const { tool_calls: calls, ...delta } = message
    const indexed = Array.isArray(calls)
      ? { tool_calls: calls.map((call, index) => ({ index, ...call })) }
      : {}
    return { ...choice, delta: { ...delta, ...indexed }, finish_reason: native ?? null }
  })
}

function mendChoice(choice: JsonObject, index: number, newToolCallId: () => string): WholeChoice {
  const { delta, finish_reason: native, message: given } = choice
  if (isFailureReason(native))
    throw new ProviderError('error-frame', 'The provider ended its reply with an error.')
  const reason = readFinishReason(native)
  const mapped = reason === undefined ? 'stop' : mapFinishReason(reason)
  // Gemini leaves out the message of a reply that it filtered.
  const raw = given ?? delta ?? (mapped === 'content_filter' ? {} : undefined)
  if (!isObject(raw)) throw invalidReply('a choice has no message')
  const message: JsonObject = { ...raw, role: 'assistant', content: raw.content ?? null }
  mendText(message)
  const rawCalls = raw.tool_calls ?? undefined
  const calls = rawCalls === undefined ? [] : mendToolCalls(rawCalls, newToolCallId)
  if (calls.length > 0) message.tool_calls = calls
  else if ('tool_calls' in message) delete message.tool_calls
  return Object.assign({}, choice, {
    index,
    message,
    delta: undefined,
    finish_reason: mapped === 'stop' && calls.length > 0 ? 'tool_calls' : mapped,
    native_finish_reason: reason === undefined || isKnownReason(reason) ? reason : cleanLabel(reason),
  })
}
