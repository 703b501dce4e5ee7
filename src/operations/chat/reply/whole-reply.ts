import { ProviderError } from '../../../base/errors.js'
import {
  type FinishReason,
  finishReasonFor,
  isDroppedOutput,
  isFailureReason,
  isKnownReason,
  mapFinishReason,
  ownFinishReason,
  readFinishReason,
} from '../../../protocol/finish-reason.js'
import { isObject, isText, isTooDeep, type JsonObject } from '../../../protocol/json-values.js'
import { cleanLabel } from '../../../protocol/text.js'
import {
  DROPPED_BY_PROVIDER,
  hasToken,
  invalidReply,
  legacyDelta,
  mendText,
  withoutDepths,
} from '../../../replies/delta.js'
import { orderChoices } from '../../../replies/joined-choices.js'
import type { Losses } from '../../../replies/losses.js'
import type { MendKind } from '../../../replies/mends.js'
import { mendToolCalls } from '../../../replies/tool-calls.js'

type LostPiece = readonly [what: string, piece: unknown]

/** Keeps the pieces for the end of a reply: a stream sends what can be read before it says that something cannot. */
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
 * The choices of a reply in one body that can be read, and the pieces that cannot. Throws a `ProviderError` if it has none.
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
  const ordered = orderChoices(shallow, n, losses)
  return { choices: mendChoices(ordered, { n, newToolCallId, losses }), lost: losses.pieces }
}

export const OUT_OF_RANGE = 'a choice has the index of none that was asked for'

/** The output in a choice of any shape. */
export function saidIn(choice: unknown): unknown {
  return isObject(choice) ? (choice.message ?? choice.delta) : choice
}

interface MendOptions {
  /** How many choices were asked for. */
  readonly n: number
  readonly newToolCallId: () => string
  readonly losses: Losses
}

/** The choices of a reply in one body by their index, each brought to the shape that every client reads. */
function mendChoices(choices: readonly unknown[], options: MendOptions): WholeChoice[] {
  const { losses, n } = options
  const mended: WholeChoice[] = []
  for (let position = 0; position < choices.length; position++) {
    const choice: unknown = choices[position]
    if (!isObject(choice)) {
      losses.add('a choice is not an object', choice)
      continue
    }
    const index = choiceIndex(choice.index, position, n)
    if (index === undefined) losses.add(OUT_OF_RANGE, saidIn(choice))
    else if (mended.some((other) => other.index === index))
      losses.add('two choices have one index', saidIn(choice))
    else mended.push(mendChoice(choice, index, options))
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

/**
 * A choice's index, which is its position if it has none, and 0 if one choice was asked for. Undefined if it is not one of
 * `n`.
 */
export function choiceIndex(index: unknown, position: number, n: number): number | undefined {
  if (n === 1) return 0
  const given = typeof index === 'string' && index !== '' ? Number(index) : (index ?? position)
  const isOne = typeof given === 'number' && Number.isInteger(given) && given >= 0 && given < n
  return isOne ? given : undefined
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

function mendChoice(choice: JsonObject, index: number, { losses, newToolCallId }: MendOptions): WholeChoice {
  const { delta, message: given, ...rest } = choice
  const native = ownFinishReason(choice)
  if (isFailureReason(native))
    throw new ProviderError('error-frame', 'The provider ended its reply with an error.')
  const reason = readFinishReason(native)
  const mapped = reason === undefined ? 'stop' : mapFinishReason(reason)
  // Gemini leaves out the message of a reply that it filtered, or whose tool call it could not read.
  const mayLackMessage = mapped === 'content_filter' || isDroppedOutput(native)
  const said = given ?? delta ?? legacyDelta(rest, losses) ?? (mayLackMessage ? {} : undefined)
  if (said === undefined) throw invalidReply('a choice has no message')
  const raw = isObject(said) ? said : {}
  if (raw !== said) losses.add('the message of a choice is not an object', said)
  const message: JsonObject = { ...raw, role: 'assistant', content: raw.content ?? null }
  mendText(message, losses, !isText(raw.reasoning) && !isText(raw.reasoning_content))
  const rawCalls = message.tool_calls ?? undefined
  const calls = rawCalls === undefined ? [] : mendToolCalls(rawCalls, newToolCallId, losses)
  if (calls.length > 0) message.tool_calls = calls
  else if ('tool_calls' in message) delete message.tool_calls
  if (isDroppedOutput(native) && !hasToken(message)) losses.add(DROPPED_BY_PROVIDER, undefined)
  return Object.assign({}, rest, {
    index,
    message,
    finish_reason: finishReasonFor(mapped, calls.length > 0, rawCalls !== undefined),
    native_finish_reason: reason === undefined || isKnownReason(reason) ? reason : cleanLabel(reason),
  })
}
