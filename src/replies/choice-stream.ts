import type { TokenTally } from '../contracts/token-counter.js'
import type { Delta, MessageBegin } from '../conversation/delta.js'
import {
  type FinishReason,
  finishReasonFor,
  isDroppedOutput,
  isUnknownReason,
  mapFinishReason,
  shownFinishReason,
} from '../protocol/finish-reason.js'
import { isObject, isText, type JsonObject, saysNothing } from '../protocol/json-values.js'
import { cleanLabel } from '../protocol/text.js'
import { addDeltas } from './chat-deltas.js'
import { readEnd } from './choice-failure.js'
import { DROPPED_BY_PROVIDER, eachText, hasToken, legacyDelta, mendText } from './delta.js'
import { dropOddLogprobs } from './log-probabilities.js'
import type { Losses } from './losses.js'
import { matchedStop } from './stop-sequences.js'
import { ToolCallStream } from './tool-calls.js'
import type { WholeChoice } from './whole-choices.js'

/** The finish that a provider gave a choice. It is sent once nothing more can follow. */
interface GivenEnd {
  readonly reason: string
  readonly native: string | undefined
  /** What came in the same event. */
  readonly deltas: readonly Delta[]
}

const NO_DELTAS: readonly Delta[] = []
const NO_STOPS: ReadonlySet<unknown> = new Set()

/** Reads one choice of a reply into deltas, from the pieces of a stream or from a JSON reply. */
export class ChoiceStream {
  finishReason: FinishReason | undefined
  nativeFinishReason: string | undefined
  private started = false
  /** Whether reasoning has arrived as text. Its details then only repeat the text. */
  private hasReasoned = false
  private toolCalls: ToolCallStream | undefined
  private given: GivenEnd | undefined
  /** Whether output has arrived since the provider gave the finish. */
  private isContinued = false
  /**
   * Whether output ever followed a finish. Some providers put a finish reason into every chunk, so theirs mean nothing.
   */
  private wasContinued = false
  /** The calls of a JSON reply. */
  private wholeCalls = 0
  /** The text at which the model stopped. */
  private stopSequence: string | undefined

  /** @param stopSequences the texts at which the client asked to stop, if its reply says which of them it was */
  constructor(
    readonly index: number,
    readonly tally: TokenTally,
    private readonly newToolCallId: () => string,
    private readonly losses: Losses,
    private readonly stopSequences = NO_STOPS,
  ) {}

  /** The indexes of the tool calls that a JSON reply omits. */
  get lostToolCalls(): readonly number[] {
    return this.toolCalls?.lost ?? []
  }

  /** The approximate memory of the pieces of tool calls that are kept. */
  get keptBytes(): number {
    return this.toolCalls?.keptBytes ?? 0
  }

  /** Whether the provider gave a finish that counts. */
  get hasFinished(): boolean {
    return (this.given !== undefined || this.finishReason !== undefined) && !this.wasContinued
  }

  /** The provider's own finish reason, if its meaning is unknown. */
  get unknownReason(): string | undefined {
    const native = this.nativeFinishReason
    return native !== undefined && isUnknownReason(native) ? native : undefined
  }

  /**
   * Adds the deltas of a piece of the choice to `sent`.
   *
   * @param providerChoice the provider's choice, if several of its choices are parts of this one
   * @returns whether it carries a token
   */
  take(choice: JsonObject, sent: Delta[], providerChoice = 0): boolean {
    const reason = readEnd(choice)
    const {
      delta: rawDelta,
      message,
      index: _index,
      finish_reason: _reason,
      finishReason: _camelCase,
      native_finish_reason: _native,
      ...beside
    } = choice
    const given = rawDelta ?? message ?? legacyDelta(beside, this.losses) ?? {}
    dropOddLogprobs(beside, this.losses)
    const lostBefore = this.losses.count
    const isReadable = isObject(given)
    if (!isReadable && saysNothing(given)) this.losses.mend('choice-skipped')
    else if (!isReadable) this.losses.add('delta is not an object', given)
    const { role: _role, ...said }: JsonObject = isReadable ? given : {}
    if (isText(said.reasoning) || isText(said.reasoning_content)) this.hasReasoned = true
    mendText(said, this.losses, !this.hasReasoned)
    const { tool_calls: rawCalls } = said
    if (rawCalls !== undefined) delete said.tool_calls
    let isSpoken = hasToken(said)
    if (isSpoken) eachText(said, (text) => this.tally.add(text))
    let calls = NO_DELTAS
    if (rawCalls !== undefined && rawCalls !== null) {
      const read: Delta[] = []
      isSpoken = this.takeToolCalls(rawCalls, providerChoice, read) || isSpoken
      calls = read
    }
    const token = isSpoken || this.losses.count > lostBefore
    if (token) this.cancelEnd()
    if (this.stopSequences.size > 0) this.stopSequence ??= matchedStop(beside, this.stopSequences)

    const isEnd = reason !== undefined && (this.given === undefined || this.isContinued)
    // Without a token, the members of the event are sent with the finish. After the finish, only tokens are kept. A
    // withheld tool call leaves nothing to send.
    if (isEnd) this.giveEnd(reason, choice, token ? NO_DELTAS : this.deltasOf(said, beside))
    const isWorthSending =
      (this.given === undefined || token) && (calls.length > 0 || Object.keys(said).length > 0)
    if (isWorthSending || (!this.started && this.given === undefined)) {
      this.start(sent)
      addDeltas(this.index, said, beside, calls, sent)
    }
    return token
  }

  /** Adds the start of a message to `sent`. After the finish, only tokens are kept. */
  takeBegin(begun: MessageBegin, sent: Delta[]): void {
    if (this.given !== undefined) return
    this.start(sent)
    sent.push(begun)
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
    eachText(said, (text) => this.tally.add(text))
    for (const delta of calls) {
      if (delta.type === 'begin' && delta.kind === 'call') {
        this.wholeCalls++
        this.tally.add(delta.name)
      } else if (delta.type === 'input') this.tally.add(delta.text)
    }
    this.stopSequence = matchedStop(beside, this.stopSequences)
    const token = calls.length > 0 || hasToken(said)
    if (native !== undefined) {
      this.nativeFinishReason = native
      const isDropped = showsDropped && isDroppedOutput(native)
      const deltas = token ? NO_DELTAS : this.deltasOf(said, beside)
      this.given = { reason: isDropped ? native : reason, native, deltas }
      if (!token) return false
    }
    this.start(sent)
    addDeltas(this.index, said, beside, calls, sent)
    return token
  }

  /** Records text that was sent without {@link take}. */
  takeText(text: string): void {
    this.tally.add(text)
    this.cancelEnd()
  }

  /** Ends a choice with the provider's reason, if it gave one. */
  end(reason: 'stop' | 'length'): Delta[] {
    if (reason === 'length' && !this.hasFinished) {
      this.given = undefined
      this.nativeFinishReason = undefined
    }
    return this.finish(this.given ?? { reason, native: undefined, deltas: NO_DELTAS })
  }

  /** Cancels a finish that the provider gave before this output. */
  private cancelEnd(): void {
    if (this.given === undefined || this.isContinued) return
    this.isContinued = true
    this.wasContinued = true
  }

  private giveEnd(reason: string, choice: JsonObject, deltas: readonly Delta[]): void {
    this.nativeFinishReason = cleanLabel(shownFinishReason(choice, reason))
    this.given = { reason, native: this.nativeFinishReason, deltas }
    this.isContinued = false
  }

  /** Adds the calls to send to `sent`. Returns whether they carry a token, withheld or not. */
  private takeToolCalls(calls: unknown, providerChoice: number, sent: Delta[]): boolean {
    this.toolCalls ??= new ToolCallStream(this.index, this.newToolCallId, this.losses, this.tally)
    return this.toolCalls.take(calls, providerChoice, sent)
  }

  private finish({ reason, native, deltas }: GivenEnd): Delta[] {
    const sent: Delta[] = []
    this.start(sent)
    for (const delta of deltas) sent.push(delta)
    const mapped = mapFinishReason(reason)
    this.toolCalls?.end(mapped === 'length', sent)
    const hasCalls = this.toolCalls?.any === true || this.wholeCalls > 0
    this.finishReason = finishReasonFor(mapped, hasCalls, this.toolCalls !== undefined)
    if (isDroppedOutput(reason)) this.losses.add(DROPPED_BY_PROVIDER, undefined)
    const { index: choice, stopSequence } = this
    sent.push({ type: 'end', choice, reason: this.finishReason, native, stopSequence })
    return sent
  }

  private deltasOf(said: JsonObject, beside: JsonObject): Delta[] {
    const deltas: Delta[] = []
    addDeltas(this.index, said, beside, NO_DELTAS, deltas)
    return deltas
  }

  private start(sent: Delta[]): void {
    if (this.started) return
    this.started = true
    sent.push({ type: 'start', choice: this.index })
  }
}
