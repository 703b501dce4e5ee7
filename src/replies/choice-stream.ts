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
import { isObject, type JsonObject } from '../protocol/json-values.js'
import { cleanLabel } from '../protocol/text.js'
import { DROPPED_BY_PROVIDER, eachText, hasToken, type Losses, mendText } from './delta.js'
import { ToolCallStream } from './tool-calls.js'

/** Normalises one choice of a streamed reply to the shape that every client reads. */
export class ChoiceStream {
  finishReason: FinishReason | undefined
  nativeFinishReason: string | undefined
  private started = false
  /** Whether readable output has arrived. */
  private hasSpoken = false
  private toolCalls: ToolCallStream | undefined

  constructor(
    readonly index: number,
    readonly tally: TokenTally,
    private readonly newToolCallId: () => string,
    private readonly losses: Losses,
  ) {}

  /** The indexes of the tool calls that a JSON reply leaves out. */
  get lostToolCalls(): readonly number[] {
    return this.toolCalls?.lost ?? []
  }

  /** @returns the choices to send, in order, and whether they carry a token */
  take(choice: JsonObject): { sent: JsonObject[]; token: boolean } {
    const { delta: rawDelta, message, index: _index, finish_reason: _reason, ...rest } = choice
    const native = ownFinishReason(choice)
    if (isFailureReason(native))
      throw new ProviderError('error-frame', 'The provider ended its reply with an error.')
    delete rest.native_finish_reason
    const given = rawDelta ?? message ?? {}
    const lostBefore = this.losses.count
    const isReadable = isObject(given)
    if (!isReadable) this.losses.add('delta is not an object', given)
    const { role: _role, ...delta }: JsonObject = isReadable ? given : {}
    mendText(delta, this.losses)
    if (delta.tool_calls !== undefined) {
      const calls = delta.tool_calls === null ? [] : this.takeToolCalls(delta.tool_calls)
      if (calls.length > 0) delta.tool_calls = calls
      else delete delta.tool_calls
    }
    const isSpoken = hasToken(delta)
    if (isSpoken) {
      this.hasSpoken = true
      eachText(delta, (text) => this.tally.add(text))
    }
    const token = isSpoken || this.losses.count > lostBefore

    const sent: JsonObject[] = []
    const reason = readFinishReason(native)
    if (reason === undefined || this.finishReason !== undefined) {
      // After the finish, only a delta with output is sent, because clients read a finish as the end of the choice.
      const isWorthSending = this.finishReason === undefined ? Object.keys(delta).length > 0 : token
      if (!this.started || isWorthSending) sent.push(this.choice(delta, rest, null))
      return { sent, token }
    }
    sent.push(...this.finish(reason, delta, rest))
    return { sent, token }
  }

  /** Ends the choice, unless the provider gave it a finish reason. */
  end(reason: 'stop' | 'length'): JsonObject[] {
    return this.finishReason === undefined ? this.finish(reason, {}, {}, false) : []
  }

  /** Records the end of a choice of a JSON reply. `native` is undefined if the provider gave no reason. */
  takeEnd(reason: FinishReason, native: string | undefined): void {
    if (native === undefined) return
    this.finishReason = reason
    this.nativeFinishReason = native
  }

  private takeToolCalls(deltas: unknown): JsonObject[] {
    this.toolCalls ??= new ToolCallStream(this.newToolCallId, this.losses)
    return this.toolCalls.take(deltas)
  }

  private finish(reason: string, delta: JsonObject, rest: JsonObject, native = true): JsonObject[] {
    const mapped = mapFinishReason(reason)
    const missing = mapped === 'length' ? [] : (this.toolCalls?.missingArguments() ?? [])
    if (native) this.nativeFinishReason = cleanLabel(reason)
    this.finishReason = finishReasonFor(mapped, this.toolCalls?.any === true, this.toolCalls !== undefined)
    // If earlier output is readable, the client gets it with the provider's finish reason.
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
