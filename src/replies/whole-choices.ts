import type { Delta } from '../conversation/delta.js'
import {
  type FinishReason,
  finishReasonFor,
  isDroppedOutput,
  mapFinishReason,
  shownFinishReason,
} from '../protocol/finish-reason.js'
import { isObject, isText, isTooDeep, type JsonObject, saysNothing } from '../protocol/json-values.js'
import { cleanLabel } from '../protocol/text.js'
import { readEnd } from './choice-failure.js'
import { invalidReply } from './invalid-reply.js'
import { isIndex, orderChoices } from './joined-choices.js'
import { dropOddLogprobs } from './log-probabilities.js'
import { DROPPED_BY_PROVIDER, type Losses } from './losses.js'
import { hasToken, legacyDelta, mendText, withoutDepths } from './mend-text.js'
import type { MendKind } from './mends.js'
import { readWholeCalls } from './tool-calls.js'

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

/** Returns the readable choices of a JSON reply, ordered by index, and the unreadable pieces. Throws a `ProviderError` if there are no choices. */
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
  const ordered = orderChoices(shallow, n, losses)
  for (let position = 0; position < ordered.length; position++) {
    const choice = ordered[position]
    if (!isObject(choice)) {
      if (saysNothing(choice)) losses.mend('choice-skipped')
      else losses.add('a choice is not an object', choice)
      continue
    }
    const index = choiceIndex(choice.index, position, n)
    if (index === undefined) losses.add(OUT_OF_RANGE, saidIn(choice))
    else if (choices.some((other) => other.index === index))
      losses.add('two choices have the same index', saidIn(choice))
    else choices.push(readChoice(choice, index, newToolCallId, losses))
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
export interface WholeChoice {
  readonly index: number
  /** Its message as `mendText` leaves it, without its role and calls. */
  readonly said: JsonObject
  readonly calls: readonly Delta[]
  /** Its other members. */
  readonly beside: JsonObject
  readonly reason: FinishReason
  /** The reason as the provider gave it. */
  readonly native: string | undefined
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

function readChoice(
  choice: JsonObject,
  index: number,
  newToolCallId: () => string,
  losses: Losses,
): WholeChoice {
  const {
    delta,
    message: given,
    index: _index,
    finish_reason: _reason,
    finishReason: _camelCase,
    native_finish_reason: _native,
    ...beside
  } = choice
  const reason = readEnd(choice)
  dropOddLogprobs(beside, losses)
  const mapped = reason === undefined ? 'stop' : mapFinishReason(reason)
  // Gemini omits the message of a reply that it filtered, or whose tool call it could not read.
  const mayLackMessage = mapped === 'content_filter' || isDroppedOutput(reason)
  const message = given ?? delta ?? legacyDelta(beside, losses) ?? (mayLackMessage ? {} : undefined)
  if (message === undefined) throw invalidReply('a choice has no message')
  const raw = isObject(message) ? message : {}
  if (raw !== message && saysNothing(message)) losses.mend('choice-skipped')
  else if (raw !== message) losses.add('the message of a choice is not an object', message)
  const { role: _role, ...said }: JsonObject = raw
  if (said.content === undefined) said.content = null
  mendText(said, losses, !isText(raw.reasoning) && !isText(raw.reasoning_content))
  const { tool_calls: rawCalls } = said
  if (rawCalls !== undefined) delete said.tool_calls
  const hadCalls = rawCalls !== undefined && rawCalls !== null
  const calls = hadCalls
    ? readWholeCalls(rawCalls, { choice: index, newId: newToolCallId, losses, isCut: mapped === 'length' })
    : []
  const hasCalls = calls.length > 0
  if (isDroppedOutput(reason) && !hasCalls && !hasToken(said)) losses.add(DROPPED_BY_PROVIDER, undefined)
  return {
    index,
    said,
    calls,
    beside,
    reason: finishReasonFor(mapped, hasCalls, hadCalls),
    native: reason === undefined ? undefined : cleanLabel(shownFinishReason(choice, reason)),
  }
}
