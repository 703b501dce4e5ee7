import { ProviderError } from '../base/errors.js'
import type { TokenTally } from '../contracts/token-counter.js'
import {
  type FinishReason,
  finishReasonFor,
  isDroppedOutput,
  isFailureReason,
  mapFinishReason,
  ownFinishReason,
  readFinishReason,
} from '../protocol/finish-reason.js'
import { isObject, isText, type JsonObject } from '../protocol/json-values.js'
import { cleanLabel } from '../protocol/text.js'
import { DROPPED_BY_PROVIDER, eachText, hasToken, legacyDelta, mendText } from './delta.js'
import type { Losses } from './losses.js'
import { ToolCallStream } from './tool-calls.js'

/** One choice of a streamed reply, brought to the shape that every client reads. */
export class ChoiceStream {
  finishReason: FinishReason | undefined
  nativeFinishReason: string | undefined
  private started = false
  /** Something that can be read has come. */
  private hasSpoken = false
  /** Reasoning has come as text: details of it repeat the text. */
  private hasReasoned = false
  private toolCalls: ToolCallStream | undefined

  constructor(
    readonly index: number,
    readonly tally: TokenTally,
    private readonly newToolCallId: () => string,
    private readonly losses: Losses,
  ) {}

  /** The indexes of tool calls that are to be left out of a reply in one body. */
  get lostToolCalls(): readonly number[] {
    return this.toolCalls?.lost ?? []
  }

  /**
   * @param lane the provider's choice, if its choices are parts of this one
   * @returns the choices to send, in order, and whether they carry a token
   */
  take(choice: JsonObject, lane = 0): { sent: JsonObject[]; token: boolean } {
    const { delta: rawDelta, message, index: _index, finish_reason: _reason, ...rest } = choice
    const native = ownFinishReason(choice)
    if (isFailureReason(native))
      throw new ProviderError('error-frame', 'The provider ended its reply with an error.')
    delete rest.native_finish_reason
    const given = rawDelta ?? message ?? legacyDelta(rest, this.losses) ?? {}
    const lostBefore = this.losses.count
    const isReadable = isObject(given)
    if (!isReadable) this.losses.add('delta is not an object', given)
    const { role: _role, ...delta }: JsonObject = isReadable ? given : {}
    if (isText(delta.reasoning) || isText(delta.reasoning_content)) this.hasReasoned = true
    mendText(delta, this.losses, !this.hasReasoned)
    const { tool_calls: calls } = delta
    if (calls !== undefined) delete delta.tool_calls
    let isSpoken = hasToken(delta)
    if (isSpoken) eachText(delta, (text) => this.tally.add(text))
    if (calls !== undefined && calls !== null) isSpoken = this.takeToolCalls(calls, lane, delta) || isSpoken
    if (isSpoken) this.hasSpoken = true
    const token = isSpoken || this.losses.count > lostBefore

    const sent: JsonObject[] = []
    const reason = readFinishReason(native)
    if (reason === undefined || this.finishReason !== undefined) {
      // After the finish only what is lost otherwise goes on: clients take a finish for the end of the choice.
      const tells = this.finishReason === undefined ? Object.keys(delta).length > 0 : token
      if (!this.started || tells) sent.push(this.choice(delta, rest, null))
      return { sent, token }
    }
    sent.push(...this.finish(reason, delta, rest))
    return { sent, token }
  }

  /** Ends a choice, unless the provider gave it a finish reason. */
  end(reason: 'stop' | 'length'): JsonObject[] {
    if (this.finishReason === undefined) return this.finish(reason, {}, {}, false)
    // Calls that came after the finish.
    const late = this.toolCalls?.end(false) ?? []
    return late.length > 0 ? [this.choice({ tool_calls: late }, {}, null)] : []
  }

  /** It came in one body, and ended for a reason that the provider gave, or did not. */
  takeEnd(reason: FinishReason, native: string | undefined): void {
    if (native === undefined) return
    this.finishReason = reason
    this.nativeFinishReason = native
  }

  /** Puts the calls to send into `delta`. Returns whether they carry a token, held back or not. */
  private takeToolCalls(calls: unknown, lane: number, delta: JsonObject): boolean {
    this.toolCalls ??= new ToolCallStream(this.newToolCallId, this.losses, this.tally)
    const sent: JsonObject[] = []
    const token = this.toolCalls.take(calls, lane, sent)
    if (sent.length > 0) delta.tool_calls = sent
    return token
  }

  private finish(reason: string, delta: JsonObject, rest: JsonObject, native = true): JsonObject[] {
    const mapped = mapFinishReason(reason)
    const missing = this.toolCalls?.end(mapped === 'length') ?? []
    if (native) this.nativeFinishReason = cleanLabel(reason)
    this.finishReason = finishReasonFor(mapped, this.toolCalls?.any === true, this.toolCalls !== undefined)
    // If earlier output can be read, the client gets it, with the provider's finish reason.
    if (isDroppedOutput(reason) && !this.hasSpoken) this.losses.add(DROPPED_BY_PROVIDER, undefined)
    const nativeField = native ? { native_finish_reason: this.nativeFinishReason } : {}
    if (missing.length === 0) return [this.choice(delta, { ...rest, ...nativeField }, this.finishReason)]
    return [
      this.choice(delta, rest, null),
      this.choice({ tool_calls: missing }, {}, null),
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
