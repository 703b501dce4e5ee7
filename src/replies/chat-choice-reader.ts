import type { Delta } from '../conversation/delta.js'
import { isDroppedOutput, shownFinishReason } from '../protocol/finish-reason.js'
import { isObject, isText, type JsonObject, saysNothing } from '../protocol/json-values.js'
import { cleanLabel } from '../protocol/text.js'
import { addDeltas } from './chat-deltas.js'
import { readEnd } from './choice-failure.js'
import { dropOddLogprobs } from './log-probabilities.js'
import { eachText, hasToken, legacyDelta, mendText } from './mend-text.js'
import type { GivenReason, ReplyChoice } from './reply-choice.js'
import { matchedStop } from './stop-sequences.js'
import { takeCalls } from './tool-calls.js'
import type { WholeChoice } from './whole-choices.js'

const NO_DELTAS: readonly Delta[] = []

/** Reads one choice of a provider of chats into deltas, from the pieces of a stream or from a JSON reply. */
export class ChatChoiceReader {
  /** Whether reasoning has arrived as text. Its details then only repeat the text. */
  private hasReasoned = false

  constructor(readonly choice: ReplyChoice) {}

  /**
   * Adds the deltas of a piece of the choice to `sent`.
   *
   * @param providerChoice the provider's choice, if several of its choices are parts of this one
   * @returns whether it carries a token
   */
  take(raw: JsonObject, sent: Delta[], providerChoice = 0): boolean {
    const { choice } = this
    const { losses, stopSequences } = choice
    const reason = readEnd(raw)
    const {
      delta: rawDelta,
      message,
      index: _index,
      finish_reason: _reason,
      finishReason: _camelCase,
      native_finish_reason: _native,
      ...beside
    } = raw
    const given = rawDelta ?? message ?? legacyDelta(beside, losses) ?? {}
    dropOddLogprobs(beside, losses)
    const lostBefore = losses.count
    const isReadable = isObject(given)
    if (!isReadable && saysNothing(given)) losses.mend('choice-skipped')
    else if (!isReadable) losses.add('delta is not an object', given)
    const { role: _role, ...said }: JsonObject = isReadable ? given : {}
    if (isText(said.reasoning) || isText(said.reasoning_content)) this.hasReasoned = true
    mendText(said, losses, !this.hasReasoned)
    const { tool_calls: rawCalls } = said
    if (rawCalls !== undefined) delete said.tool_calls
    let isSpoken = this.count(said)
    let calls = NO_DELTAS
    if (rawCalls !== undefined && rawCalls !== null) {
      const read: Delta[] = []
      isSpoken = takeCalls(rawCalls, choice.toolCalls, providerChoice, losses, read) || isSpoken
      calls = read
    }
    if (stopSequences.size > 0) choice.stopSequence ??= matchedStop(beside, stopSequences)
    addDeltas(choice.index, said, beside, calls, sent)
    const token = isSpoken || losses.count > lostBefore
    const end = reason === undefined ? undefined : givenReason(reason, raw)
    choice.settle(sent, token, end, calls.length > 0 || Object.keys(said).length > 0)
    return token
  }

  /**
   * Adds the deltas of a choice of a JSON reply to `sent`, except for its end.
   *
   * @param showsDropped whether a finish that reports dropped output is one that cannot be read, as in a stream
   * @returns whether it carries a token
   */
  takeWhole(
    { beside, calls, native, reason, said }: WholeChoice,
    sent: Delta[],
    showsDropped: boolean,
  ): boolean {
    const { choice } = this
    const isSpoken = this.count(said)
    for (const delta of calls) {
      if (delta.type === 'begin' && delta.kind === 'call') {
        choice.hasWholeCalls = true
        choice.tally.add(delta.name)
      } else if (delta.type === 'input') choice.tally.add(delta.text)
    }
    choice.stopSequence = matchedStop(beside, choice.stopSequences)
    addDeltas(choice.index, said, beside, calls, sent)
    const token = isSpoken || calls.length > 0
    const isDropped = showsDropped && native !== undefined && isDroppedOutput(native)
    const end = native === undefined ? undefined : { reason: isDropped ? native : reason, native }
    choice.settle(sent, token, end, true)
    return token
  }

  /** Counts the output of a delta or message without its calls. Returns whether there is any. */
  private count(said: JsonObject): boolean {
    if (!hasToken(said)) return false
    const { tally } = this.choice
    eachText(said, (text) => tally.add(text))
    return true
  }
}

function givenReason(reason: string, raw: JsonObject): GivenReason {
  return { reason, native: cleanLabel(shownFinishReason(raw, reason)) }
}
