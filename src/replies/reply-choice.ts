import type { TokenTally } from '../contracts/token-counter.js'
import type {
  ChoiceStart,
  Delta,
  EndMembers,
  Members,
  ProviderDelta,
  ProviderEnd,
} from '../conversation/delta.js'
import {
  type FinishReason,
  finishReasonFor,
  isDroppedOutput,
  isUnknownReason,
  mapFinishReason,
  shownFinishReason,
} from '../protocol/finish-reason.js'
import { saysNothing } from '../protocol/json-values.js'
import { cleanLabel } from '../protocol/text.js'
import { readableAnnotation } from './annotations.js'
import { readEnd } from './choice-failure.js'
import { invalidReply } from './invalid-reply.js'
import { readableLogprobs } from './log-probabilities.js'
import { DROPPED_BY_PROVIDER, type Losses } from './losses.js'
import { eachTextIn } from './lost-pieces.js'
import { ToolCallStream } from './tool-calls.js'

/** The finish in the words of a provider. */
export interface GivenReason {
  readonly reason: string
  readonly native: string | undefined
  readonly rest?: EndMembers | undefined
}

/** The finish that a provider gave a choice. It is sent once nothing more can follow. */
interface GivenEnd extends GivenReason {
  /** What came in the same event. */
  readonly deltas: readonly Delta[]
}

const NO_DELTAS: readonly Delta[] = []
const NO_STOPS: ReadonlySet<unknown> = new Set()

/**
 * One choice of a reply: its tokens, its calls and its end. Whoever reads the reply tells it what each event brought, and
 * gets the deltas to write.
 */
export class ReplyChoice {
  finishReason: FinishReason | undefined
  nativeFinishReason: string | undefined
  /** The text at which the model stopped. */
  stopSequence: string | undefined
  /** Whether calls came that were already whole. */
  hasWholeCalls = false
  private started = false
  /** The counts with which the provider started. */
  private counts: ChoiceStart['counts']
  private calls: ToolCallStream | undefined
  private given: GivenEnd | undefined
  /** Whether output has arrived since the provider gave the finish. */
  private isContinued = false
  /**
   * Whether output ever followed a finish. Some providers put a finish reason into every chunk, so theirs mean nothing.
   */
  private wasContinued = false

  /** @param stopSequences the texts at which the client asked to stop, if its reply says which of them it was */
  constructor(
    readonly index: number,
    readonly tally: TokenTally,
    readonly newToolCallId: () => string,
    readonly losses: Losses,
    readonly stopSequences = NO_STOPS,
  ) {}

  /** The indexes of the tool calls that a JSON reply omits. */
  get lostToolCalls(): readonly number[] {
    return this.calls?.lost ?? []
  }

  /** The approximate memory of the pieces of tool calls that are kept. */
  get keptBytes(): number {
    return this.calls?.keptBytes ?? 0
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

  get toolCalls(): ToolCallStream {
    this.calls ??= new ToolCallStream(this.index, this.newToolCallId, this.losses, this.tally)
    return this.calls
  }

  /** Whether the choice has begun and the provider has not ended it, so that text is written as it comes. */
  get isUnderWay(): boolean {
    return this.started && this.given === undefined
  }

  /**
   * Adds the deltas to write for one event to `sent`.
   *
   * @returns whether it carries a token
   */
  take(deltas: readonly ProviderDelta[], sent: Delta[]): boolean {
    const lostBefore = this.losses.count
    let isSpoken = false
    let end: ProviderEnd | undefined
    for (const delta of deltas) {
      if (delta.type === 'end') end = delta
      else isSpoken = this.takeOne(delta, sent) || isSpoken
    }
    const token = isSpoken || this.losses.count > lostBefore
    this.settle(sent, token, end && this.read(end), sent.length > 0)
    return token
  }

  /** Records text that was sent without a delta. */
  takeText(text: string): void {
    this.tally.add(text)
    this.cancelEnd()
  }

  /**
   * Ends an event. Completes or empties its deltas: without a token, they are sent with the finish, and after the finish,
   * only tokens are sent.
   *
   * @param isWorthSending whether it has members that clients read
   */
  settle(sent: Delta[], token: boolean, end: GivenReason | undefined, isWorthSending: boolean): void {
    if (token) this.cancelEnd()
    if (end !== undefined && (this.given === undefined || this.isContinued)) {
      this.nativeFinishReason = end.native
      const { native, reason, rest } = end
      this.given = { reason, native, rest, deltas: token ? NO_DELTAS : [...sent] }
      this.isContinued = false
    }
    const isOpen = this.given === undefined
    if (isWorthSending ? isOpen || token : isOpen && !this.started) this.start(sent)
    else sent.length = 0
  }

  /** Ends a choice with the provider's reason, if it gave one. */
  end(reason: 'stop' | 'length'): Delta[] {
    if (reason === 'length' && !this.hasFinished) {
      this.given = undefined
      this.nativeFinishReason = undefined
    }
    return this.finish(this.given ?? { reason, native: undefined, deltas: NO_DELTAS })
  }

  /** Returns whether the delta carries a token, withheld or not. */
  private takeOne(delta: Exclude<ProviderDelta, ProviderEnd>, sent: Delta[]): boolean {
    switch (delta.type) {
      case 'call':
        // Nothing without a token follows the finish, which itself ends all calls.
        if (delta.isLast === true && delta.input === '' && this.given !== undefined) return false
        return this.toolCalls.take(delta, 0, sent)
      case 'text':
        if (delta.text === '') return false
        this.tally.add(delta.text)
        sent.push(delta)
        return true
      case 'thoughts':
        sent.push(delta)
        return delta.pieces.length > 0
      case 'image':
      case 'audio':
        sent.push(delta)
        return true
      case 'logprobs': {
        const logprobs = readableLogprobs(delta.logprobs, this.losses)
        if (logprobs !== undefined) sent.push({ ...delta, logprobs })
        return false
      }
      case 'annotation': {
        const annotation = delta.annotation && readableAnnotation(delta.annotation, this.losses)
        if (annotation !== undefined || delta.native !== undefined) sent.push({ ...delta, annotation })
        return delta.native !== undefined && this.countMembers(delta.native)
      }
      case 'begin':
        sent.push(delta)
        return delta.kind === 'native' && this.countMembers(delta.block, true)
      case 'native':
        sent.push(delta)
        return this.countMembers(delta.native)
      case 'rest':
      case 'done':
        sent.push(delta)
        return false
      case 'start':
        this.counts ??= delta.counts
        return false
      default:
        throw invalidReply('a delta has an unknown type')
    }
  }

  /**
   * Counts the text in the members of a block or delta that only its own API can read. Returns whether there is any
   * content.
   */
  private countMembers(members: Members, says = false): boolean {
    let found = says
    for (const name of Object.keys(members)) {
      const value = members[name]
      if (name === 'type' || saysNothing(value)) continue
      found = true
      eachTextIn(value, (text) => this.tally.add(text))
    }
    return found
  }

  private read({ native, reason, rest, stopSequence }: ProviderEnd): GivenReason | undefined {
    const words = { finish_reason: reason, native_finish_reason: native }
    const word = readEnd(words)
    this.stopSequence = stopSequence ?? this.stopSequence
    if (word === undefined) return undefined
    return { reason: word, native: cleanLabel(shownFinishReason(words, word)), rest }
  }

  /** Cancels a finish that the provider gave before this output. */
  private cancelEnd(): void {
    if (this.given === undefined || this.isContinued) return
    this.isContinued = true
    this.wasContinued = true
  }

  private finish({ deltas, native, reason, rest }: GivenEnd): Delta[] {
    const sent = [...deltas]
    this.start(sent)
    const mapped = mapFinishReason(reason)
    this.calls?.end(mapped === 'length', sent)
    const hasCalls = this.calls?.any === true || this.hasWholeCalls
    this.finishReason = finishReasonFor(mapped, hasCalls, this.calls !== undefined)
    if (isDroppedOutput(reason)) this.losses.add(DROPPED_BY_PROVIDER, undefined)
    const { index: choice, stopSequence } = this
    const end = { type: 'end', choice, reason: this.finishReason, native, stopSequence } as const
    sent.push(rest === undefined ? end : { ...end, rest })
    return sent
  }

  private start(sent: Delta[]): void {
    if (this.started) return
    this.started = true
    const { counts, index: choice } = this
    sent.unshift(counts === undefined ? { type: 'start', choice } : { type: 'start', choice, counts })
  }
}
