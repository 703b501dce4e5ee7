import {
  type FinishReason,
  finishReasonFor,
  isDroppedOutput,
  mapFinishReason,
  shownFinishReason,
} from '../../../protocol/finish-reason.js'
import { isObject, isText, isTooDeep, type JsonObject, saysNothing } from '../../../protocol/json-values.js'
import { cleanLabel } from '../../../protocol/text.js'
import { readEnd } from '../../../replies/choice-failure.js'
import {
  DROPPED_BY_PROVIDER,
  hasToken,
  invalidReply,
  legacyDelta,
  mendText,
  withoutDepths,
} from '../../../replies/delta.js'
import { isIndex, orderChoices } from '../../../replies/joined-choices.js'
import { dropOddLogprobs } from '../../../replies/log-probabilities.js'
import type { Losses } from '../../../replies/losses.js'
import type { MendKind } from '../../../replies/mends.js'
import { mendToolCalls } from '../../../replies/tool-calls.js'

type LostPiece = readonly [what: string, piece: unknown]

/** Keeps the unreadable pieces until the end of a reply, because a stream first sends all readable content. */
class GatheredLosses implements Losses {
  readonly pieces: LostPiece[] = []

  constructor(private readonly mends: Pick<Losses, 'mend'>) {}

  get count(): number {
    return this.pieces.length
  }

  add(what: string, piece: unknown): void {
    this.pieces.push([what, piece])
  }

  mend(kind: MendKind, dropped?: string): void {
    this.mends.mend(kind, dropped)
  }
}

/**
 * Returns the readable choices of a JSON reply, ordered by index and in the shape that every client reads, and the
 * unreadable pieces. Throws a `ProviderError` if there are no choices.
 */
export function readChoices(
  completion: JsonObject,
  n: number,
  newToolCallId: () => string,
  mends: Pick<Losses, 'mend'>,
): { choices: WholeChoice[]; lost: readonly LostPiece[] } {
  const losses = new GatheredLosses(mends)
  const given = completion.choices
  if (!Array.isArray(given)) throw invalidReply('choices is not a list')
  const shallow = isTooDeep(completion) ? withoutDepths(given, losses) : given
  const choices: WholeChoice[] = []
  for (const [position, choice] of orderChoices(shallow, n, losses).entries()) {
    if (!isObject(choice)) {
      if (saysNothing(choice)) losses.mend('choice-skipped')
      else losses.add('a choice is not an object', choice)
      continue
    }
    const index = choiceIndex(choice.index, position, n)
    if (index === undefined) losses.add(OUT_OF_RANGE, saidIn(choice))
    else if (choices.some((other) => other.index === index))
      losses.add('two choices have the same index', saidIn(choice))
    else choices.push(mendChoice(choice, index, newToolCallId, losses))
  }
  choices.sort((one, other) => one.index - other.index)
  return { choices, lost: losses.pieces }
}

export const OUT_OF_RANGE = 'a choice has an index that was not requested'

/** Returns the output in a choice of any shape. */
export function saidIn(choice: unknown): unknown {
  return isObject(choice) ? (choice.message ?? choice.delta) : choice
}

/** A choice of a JSON reply. */
export interface WholeChoice extends JsonObject {
  readonly index: number
  readonly message: JsonObject
  readonly finish_reason: FinishReason
  /** As the provider gave it. */
  readonly native_finish_reason: string | undefined
}

/**
 * Returns a choice's index. The default is its position, or 0 if one choice was requested. Returns undefined for an
 * index that is not from 0 to `n - 1`.
 */
export function choiceIndex(index: unknown, position: number, n: number): number | undefined {
  if (n === 1) return 0
  const given = typeof index === 'string' && index !== '' ? Number(index) : (index ?? position)
  return isIndex(given, n) ? given : undefined
}

/**
 * Returns the choices of a JSON reply as the choices of a single chunk, for a client that asked for a stream. A choice
 * without the provider's finish reason has none here either.
 */
export function asChunkChoices(choices: readonly WholeChoice[]): JsonObject[] {
  return choices.map(({ message, native_finish_reason: native, finish_reason: mapped, ...choice }) => {
    const { tool_calls: calls, ...delta } = message
    // An empty list means that none of the final calls can be read.
    const isWithout = mapped === 'stop' && native !== undefined && mapFinishReason(native) === 'tool_calls'
    const indexed = Array.isArray(calls)
      ? { tool_calls: calls.map((call, index) => ({ index, ...call })) }
      : isWithout
        ? { tool_calls: [] }
        : {}
    // Calls beside dropped output would hide that output was dropped.
    const reason = isDroppedOutput(native) ? native : mapped
    const end =
      native === undefined ? { finish_reason: null } : { finish_reason: reason, native_finish_reason: native }
    return { ...choice, delta: { ...delta, ...indexed }, ...end }
  })
}

function mendChoice(
  choice: JsonObject,
  index: number,
  newToolCallId: () => string,
  losses: Losses,
): WholeChoice {
  const { delta, message: given, ...rest } = choice
  const reason = readEnd(choice)
  dropOddLogprobs(rest, losses)
  const mapped = reason === undefined ? 'stop' : mapFinishReason(reason)
  // Gemini omits the message of a reply that it filtered, or whose tool call it could not read.
  const mayLackMessage = mapped === 'content_filter' || isDroppedOutput(reason)
  const said = given ?? delta ?? legacyDelta(rest, losses) ?? (mayLackMessage ? {} : undefined)
  if (said === undefined) throw invalidReply('a choice has no message')
  const raw = isObject(said) ? said : {}
  if (raw !== said && saysNothing(said)) losses.mend('choice-skipped')
  else if (raw !== said) losses.add('the message of a choice is not an object', said)
  const message: JsonObject = { ...raw, role: 'assistant', content: raw.content ?? null }
  mendText(message, losses, !isText(raw.reasoning) && !isText(raw.reasoning_content))
  const rawCalls = message.tool_calls ?? undefined
  const calls =
    rawCalls === undefined ? [] : mendToolCalls(rawCalls, newToolCallId, losses, mapped === 'length')
  if (calls.length > 0) message.tool_calls = calls
  else if ('tool_calls' in message) delete message.tool_calls
  if (isDroppedOutput(reason) && !hasToken(message)) losses.add(DROPPED_BY_PROVIDER, undefined)
  return Object.assign({}, rest, {
    index,
    message,
    finish_reason: finishReasonFor(mapped, calls.length > 0, rawCalls !== undefined),
    native_finish_reason: reason === undefined ? undefined : cleanLabel(shownFinishReason(choice, reason)),
  })
}
