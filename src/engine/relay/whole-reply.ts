import { ProviderError } from '../../errors.js'
import { mapFinishReason } from '../../protocol/finish-reason.js'
import { cleanLabel } from '../../protocol/text.js'
import { type Fields, invalidReply, isObject, mendText } from './delta.js'
import { mendToolCalls } from './tool-calls.js'

/** The choices of a reply in one body by their index, each brought to the shape that every client reads. */
export function mendChoices(choices: unknown, n: number, newToolCallId: () => string): Fields[] {
  if (!Array.isArray(choices)) throw invalidReply('choices is not a list')
  const mended = new Map<number, Fields>()
  for (const [position, choice] of choices.entries()) {
    if (!isObject(choice)) throw invalidReply('a choice is not an object')
    const index = choiceIndex(choice.index, position, n)
    if (mended.has(index)) throw invalidReply('two choices have one index')
    mended.set(index, mendChoice(choice, index, newToolCallId))
  }
  return [...mended].sort(([one], [other]) => one - other).map(([, choice]) => choice)
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
export function asChunkChoices(choices: readonly Fields[]): Fields[] {
  return choices.map(({ message, native_finish_reason: native, finish_reason: _mapped, ...choice }) => {
    const { tool_calls: calls, ...delta } = message as Fields
    const indexed = Array.isArray(calls)
      ? { tool_calls: calls.map((call, index) => ({ index, ...call })) }
      : {}
    return { ...choice, delta: { ...delta, ...indexed }, finish_reason: native ?? null }
  })
}

function mendChoice(choice: Fields, index: number, newToolCallId: () => string): Fields {
  const {
    index: _index,
    message: given,
    delta,
    finish_reason: native,
    native_finish_reason: _native,
    ...rest
  } = choice
  const raw = given ?? delta
  if (!isObject(raw)) throw invalidReply('a choice has no message')
  if (native === 'error')
    throw new ProviderError('error-frame', 'The provider ended its reply with an error.')
  const { role: _role, tool_calls: rawCalls, ...fields } = raw
  mendText(fields)
  const calls = rawCalls === undefined || rawCalls === null ? [] : mendToolCalls(rawCalls, newToolCallId)
  const known = typeof native === 'string' && native !== ''
  const mapped = known ? mapFinishReason(native) : 'stop'
  return {
    index,
    message: {
      role: 'assistant',
      ...fields,
      content: fields.content ?? null,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    ...rest,
    finish_reason: mapped === 'stop' && calls.length > 0 ? 'tool_calls' : mapped,
    ...(known && { native_finish_reason: cleanLabel(native) }),
  }
}
