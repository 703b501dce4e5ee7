import type { TokenTally } from '../contracts/token-counter.js'
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
import { readEnd } from './choice-failure.js'
import { DROPPED_BY_PROVIDER, eachText, hasToken, legacyDelta, mendText } from './delta.js'
import { dropOddLogprobs } from './log-probabilities.js'
import type { Losses } from './losses.js'
import { ToolCallStream } from './tool-calls.js'

/** The finish that a provider gave a choice. It is sent once nothing more can follow. */
interface GivenEnd {
  readonly reason: string
  readonly native: string | undefined
  readonly delta: JsonObject
  /** The other members of the provider's choice. */
  readonly rest: JsonObject
}

/** Normalises one choice of a streamed reply to the shape that every client reads. */
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

  constructor(
    readonly index: number,
    readonly tally: TokenTally,
    private readonly newToolCallId: () => string,
    private readonly losses: Losses,
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
   * @param providerChoice the provider's choice, if several of its choices are parts of this one
   * @returns the choices to send, in order, and whether they carry a token
   */
  take(choice: JsonObject, providerChoice = 0): { sent: JsonObject[]; token: boolean } {
    const reason = readEnd(choice)
    const {
      delta: rawDelta,
      message,
      index: _index,
      finish_reason: _reason,
      finishReason: _camelCase,
      native_finish_reason: _native,
      ...rest
    } = choice
    const given = rawDelta ?? message ?? legacyDelta(rest, this.losses) ?? {}
    dropOddLogprobs(rest, this.losses)
    const lostBefore = this.losses.count
    const isReadable = isObject(given)
    if (!isReadable && saysNothing(given)) this.losses.mend('choice-skipped')
    else if (!isReadable) this.losses.add('delta is not an object', given)
    const { role: _role, ...delta }: JsonObject = isReadable ? given : {}
    if (isText(delta.reasoning) || isText(delta.reasoning_content)) this.hasReasoned = true
    mendText(delta, this.losses, !this.hasReasoned)
    const { tool_calls: calls } = delta
    if (calls !== undefined) delete delta.tool_calls
    let isSpoken = hasToken(delta)
    if (isSpoken) eachText(delta, (text) => this.tally.add(text))
    if (calls !== undefined && calls !== null)
      isSpoken = this.takeToolCalls(calls, providerChoice, delta) || isSpoken
    const token = isSpoken || this.losses.count > lostBefore
    if (token) this.cancelEnd()

    const isEnd = reason !== undefined && (this.given === undefined || this.isContinued)
    if (isEnd) this.giveEnd(reason, choice, token ? {} : delta, token ? {} : rest)
    // Without a token, the members of the event are sent with the finish. After the finish, only tokens are kept. A
    // withheld tool call leaves nothing to send.
    const isWorthSending = Object.keys(delta).length > 0 && (this.given === undefined || token)
    const isSent = isWorthSending || (!this.started && this.given === undefined)
    return { sent: isSent ? [this.choice(delta, rest, null)] : [], token }
  }

  /** Records text that was sent without {@link take}. */
  takeText(text: string): void {
    this.tally.add(text)
    this.cancelEnd()
  }

  /** Ends a choice with the provider's reason, if it gave one. */
  end(reason: 'stop' | 'length'): JsonObject[] {
    if (reason === 'length' && !this.hasFinished) {
      this.given = undefined
      this.nativeFinishReason = undefined
    }
    return this.finish(this.given ?? { reason, native: undefined, delta: {}, rest: {} })
  }

  /** Records the end of a choice of a JSON reply. `native` is undefined if the provider gave no reason. */
  takeEnd(reason: FinishReason, native: string | undefined): void {
    if (native === undefined) return
    this.finishReason = reason
    this.nativeFinishReason = native
  }

  /** Cancels a finish that the provider gave before this output. */
  private cancelEnd(): void {
    if (this.given === undefined || this.isContinued) return
    this.isContinued = true
    this.wasContinued = true
  }

  private giveEnd(reason: string, choice: JsonObject, delta: JsonObject, rest: JsonObject): void {
    this.nativeFinishReason = cleanLabel(shownFinishReason(choice, reason))
    this.given = { reason, native: this.nativeFinishReason, delta, rest }
    this.isContinued = false
  }

  /** Puts the calls to send into `delta`. Returns whether they carry a token, withheld or not. */
  private takeToolCalls(calls: unknown, providerChoice: number, delta: JsonObject): boolean {
    this.toolCalls ??= new ToolCallStream(this.newToolCallId, this.losses, this.tally)
    const sent: JsonObject[] = []
    const token = this.toolCalls.take(calls, providerChoice, sent)
    if (sent.length > 0) delta.tool_calls = sent
    return token
  }

  private finish({ reason, native, delta, rest }: GivenEnd): JsonObject[] {
    const mapped = mapFinishReason(reason)
    const missing = this.toolCalls?.end(mapped === 'length') ?? []
    this.finishReason = finishReasonFor(mapped, this.toolCalls?.any === true, this.toolCalls !== undefined)
    if (isDroppedOutput(reason)) this.losses.add(DROPPED_BY_PROVIDER, undefined)
    const nativeField = native === undefined ? {} : { native_finish_reason: native }
    if (missing.length === 0) return [this.choice(delta, { ...rest, ...nativeField }, this.finishReason)]
    return [
      this.choice({ ...delta, tool_calls: missing }, rest, null),
      this.choice({}, nativeField, this.finishReason),
    ]
  }

  private choice(delta: JsonObject, rest: JsonObject, finishReason: FinishReason | null): JsonObject {
    const first = !this.started
    this.started = true
    return {
      index: this.index,
      delta: first ? { role: 'assistant', ...delta } : delta,
      ...rest,
      finish_reason: finishReason,
    }
  }
}
