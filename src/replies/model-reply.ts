import { type CompatError, isProviderError, ProviderError } from '../base/errors.js'
import { withItem } from '../base/with-item.js'
import type { Reply, ReplyEvent, ReplyParts } from '../contracts/operation.js'
import type { ReplyBytes } from '../contracts/reply.js'
import type { Delta, Labels, ProviderDelta } from '../conversation/delta.js'
import type { FinishReason } from '../protocol/finish-reason.js'
import { NO_BYTES, plus, type WireBytes } from '../protocol/wire-bytes.js'
import type { WireCharge } from '../protocol/wire-usage.js'
import { ChatReader, type ReadReply } from './chat-reader.js'
import { ChoiceFailure, endedWithoutOutput } from './choice-failure.js'
import type { DeltaWriter } from './delta-writer.js'
import { invalidReply } from './invalid-reply.js'
import { isIndex } from './joined-choices.js'
import { LostPieces } from './lost-pieces.js'
import { withOwnNames } from './own-names.js'
import { ReplyChoice } from './reply-choice.js'
import { ReplyLabels } from './reply-labels.js'
import { OUT_OF_RANGE } from './whole-choices.js'

const NO_DELTAS: readonly Delta[] = []
const NO_LABELS: Labels = Object.freeze({})

/** The part of a request that its reply depends on. */
export interface AskedReply {
  readonly stream: boolean
  /** The number of choices requested. */
  readonly n: number
  /** The texts at which the client asked to stop, if its reply says which of them it was. */
  readonly stopSequences?: ReadonlySet<unknown>
  /** Whether the client gets chunks, so that text can go from one chunk into the other unparsed. */
  readonly splices?: boolean
}
const NO_CHOICES: readonly ReplyChoice[] = []

/**
 * The reply of a model, whatever API its provider speaks. Passes its deltas to the writer of the client's API, and keeps
 * the facts that a charge depends on. Decides nothing about money.
 */
export class ModelReply implements Reply, ReadReply {
  private spokenEvents = 0
  private hasBegun = false
  failure: ProviderError | undefined
  private pending = NO_BYTES
  /** Reads the events of a chat. Undefined if none has come. */
  private chatReader: ChatReader | undefined
  /** In the order in which they started. */
  private choices: readonly ReplyChoice[] = NO_CHOICES
  private cameWhole = false
  readonly lost: LostPieces
  /** Whether the end of the choices could not be sent. */
  private lostItsEnd = false
  private readonly labels = new ReplyLabels()
  /** Lists from an event without choices, for the next chunk. Undefined if there are none. */
  private waitingLabels: Labels | undefined
  /** The client's names of tools that the provider knows by others. Undefined if there are none. */
  private toolNames: ReadonlyMap<string, string> | undefined
  /** Whether the choices of a JSON body are written. */
  private hasEndedBody = false

  constructor(
    private readonly parts: ReplyParts,
    private readonly asked: AskedReply,
    private readonly writer: DeltaWriter,
  ) {
    this.lost = new LostPieces(parts.counter)
  }

  get unreadable(): ProviderError | undefined {
    return this.lost.why
  }

  get tokenEvents(): number {
    return this.spokenEvents + this.lost.count
  }

  get begun(): boolean {
    return this.hasBegun || this.lost.count > 0
  }

  /** Whether every started choice has its finish reason, or a JSON reply has arrived. */
  get finished(): boolean {
    if (this.lostItsEnd) return false
    if (this.cameWhole) return true
    for (const choice of this.choices) if (!choice.hasFinished) return false
    return this.choices.length > 0
  }

  get finishReason(): FinishReason | undefined {
    if (this.failure !== undefined) return undefined
    return this.choices[0]?.finishReason
  }

  get nativeFinishReason(): string | undefined {
    const failed = this.failure instanceof ChoiceFailure ? this.failure.nativeFinishReason : undefined
    return failed ?? this.choices[0]?.nativeFinishReason
  }

  /** Whether labels wait for the next chunk. */
  get isWaiting(): boolean {
    return this.waitingLabels !== undefined
  }

  get upstreamId(): string | undefined {
    return this.labels.upstreamId
  }

  get mends(): Reply['mends'] {
    return this.lost.mends
  }

  get gaveReason(): boolean {
    return this.choices.some(({ nativeFinishReason }) => nativeFinishReason !== undefined)
  }

  get keptBytes(): number {
    let bytes = this.pending.length + this.writer.keptBytes
    for (const choice of this.choices) bytes += choice.keptBytes
    return bytes
  }

  opening(): Iterable<WireBytes> | undefined {
    return this.asked.stream ? this.writer.opening?.() : undefined
  }

  /**
   * Accepts the events of one network read.
   *
   * @returns the bytes to send now: none before the first token, and none if the client asked for a JSON
   * reply. After a `failure` they still include the events before it
   */
  take(events: readonly ReplyEvent[]): WireBytes {
    let sent = this.pending
    for (const event of events) {
      if (this.failure !== undefined) break
      try {
        sent = plus(sent, this.takeEvent(event))
      } catch (error) {
        this.failure = isProviderError(error)
          ? error
          : new ProviderError('invalid-response', 'The provider sent an event that cannot be read.', {
              cause: error,
            })
      }
    }
    if (this.begun) {
      this.pending = NO_BYTES
      return sent
    }
    this.pending = sent
    return NO_BYTES
  }

  completionAtLeast(maxTokensPerChoice: number): number {
    let tokens = this.lost.tokensAtLeast()
    for (const { tally } of this.choices) tokens += Math.min(tally.atLeast(), maxTokensPerChoice)
    return tokens
  }

  discard(): void {
    this.writer.discard()
  }

  /** Ends every choice without a finish reason. Throws a `ProviderError` if the choices cannot be written. */
  endChoices(reason: 'stop' | 'length', hasCountedOutput: boolean): void {
    if (reason === 'stop' && !hasCountedOutput) this.refuseUnknownEnd()
    if (this.hasEndedBody) return
    if (this.choices.length === 0) this.choiceAt(0)
    this.endAll(reason)
  }

  private endAll(reason: 'stop' | 'length'): void {
    const labels = this.labels.forEnd
    for (const choice of this.choices) {
      this.pending = plus(this.pending, this.write(choice.end(reason), labels))
    }
    if (this.asked.stream) return
    this.writer.endBody((index) => this.choiceAt(index).lostToolCalls)
    this.hasEndedBody = true
  }

  /** Returns the end of a stream whose choices have ended. */
  closing(charge: WireCharge): ReplyBytes {
    return this.writer.closing(charge, this.waitingLabels ?? NO_LABELS, this.pending)
  }

  failing(error: CompatError, charge: WireCharge): ReplyBytes {
    return this.writer.failing(error, charge, this.pending)
  }

  /** Returns the JSON reply. Its choices must have ended. */
  body(charge: WireCharge): WireBytes {
    return this.writer.body(charge, this.labels.forBody)
  }

  /** An unknown finish reason is a normal end only if the reply has output. */
  private refuseUnknownEnd(): void {
    if (this.tokenEvents > 0) return
    const reasons = this.choices.map(({ unknownReason }) => unknownReason)
    const [first] = reasons
    if (first === undefined || reasons.includes(undefined)) return
    this.failure = endedWithoutOutput(first)
    throw this.failure
  }

  /** Returns the choice with this index, and starts it if it is new. */
  choiceAt(index: number): ReplyChoice {
    for (const choice of this.choices) if (choice.index === index) return choice
    const { asked, lost, parts } = this
    const tally = parts.counter.tally()
    const choice = new ReplyChoice(index, tally, this.newToolCallId, lost, asked.stopSequences)
    this.choices = withItem(this.choices, choice)
    return choice
  }

  private takeEvent(event: ReplyEvent): WireBytes {
    switch (event.type) {
      case 'deltas':
        return this.takeDeltas(event.deltas, event.labels)
      case 'data':
        return this.chat.takeData(event.bytes)
      case 'chunk':
        return this.chat.takeChunk(event.chunk)
      case 'completion':
        return this.chat.takeCompletion(event.completion)
      case 'tool-names':
        this.toolNames = event.names
        return NO_BYTES
      case 'unreadable':
        this.lost.add(event.why, event.piece)
        return NO_BYTES
      case 'mended':
        this.lost.mend(event.kind, event.dropped)
        return NO_BYTES
      default:
        throw invalidReply('an event has an unknown type')
    }
  }

  private get chat(): ChatReader {
    const { asked, parts } = this
    this.chatReader ??= new ChatReader(this, asked.n, asked.stream, asked.splices === true && parts.splice)
    return this.chatReader
  }

  private takeDeltas(deltas: readonly ProviderDelta[], given: Labels | undefined): WireBytes {
    const labels = given === undefined ? NO_LABELS : this.takeLabels(given)
    const { finished } = this
    let bytes = NO_BYTES
    try {
      bytes = this.write(this.read(deltas), labels)
    } catch (error) {
      if (!finished) this.loseEnd()
      throw error
    }
    if (bytes === '') this.keepLabels(labels)
    return bytes
  }

  /** Returns the deltas to write. */
  private read(deltas: readonly ProviderDelta[]): readonly Delta[] {
    const [first] = deltas
    if (first === undefined) return NO_DELTAS
    const choice = this.choiceOf(first, deltas)
    // Most events are one piece of text.
    if (deltas.length === 1 && first.type === 'text' && first.text !== '' && choice.isUnderWay) {
      choice.takeText(first.text)
      this.sawToken()
      return [first]
    }
    const sent: Delta[] = []
    if (choice.take(deltas, sent)) this.sawToken()
    return sent
  }

  private choiceOf({ choice: index }: ProviderDelta, deltas: readonly ProviderDelta[]): ReplyChoice {
    if (!isIndex(index, this.asked.n)) throw invalidReply(OUT_OF_RANGE)
    for (const { choice } of deltas)
      if (choice !== index) throw invalidReply('an event has deltas of several choices')
    return this.choiceAt(index)
  }

  sawToken(): void {
    this.spokenEvents++
    this.hasBegun = true
  }

  takeLabels(top: Labels): Labels {
    // Labels after a JSON reply do not replace its own.
    if (!this.asked.stream && this.cameWhole) return NO_LABELS
    return this.labels.take(top, this.lost)
  }

  /** Keeps the lists of an event for which nothing was written. */
  keepLabels({ system_fingerprint: _, service_tier: __, ...lists }: Labels): void {
    if (!this.asked.stream || Object.keys(lists).length === 0) return
    this.waitingLabels = Object.assign({}, this.waitingLabels, lists)
  }

  readonly newToolCallId = (): string => `call_${this.parts.newId()}`

  endBody(): void {
    this.endAll('stop')
  }

  endWhole(): void {
    this.cameWhole = true
  }

  loseEnd(): void {
    this.lostItsEnd = true
  }

  /** Returns the bytes for some deltas of one choice. None if the client gets a JSON reply. */
  write(given: readonly Delta[], labels: Labels): WireBytes {
    if (given.length === 0) return NO_BYTES
    const { toolNames } = this
    const deltas = toolNames === undefined ? given : given.map((delta) => withOwnNames(delta, toolNames))
    if (!this.asked.stream) return this.writer.write(deltas, labels)
    if (this.lost.why !== undefined) return NO_BYTES
    const { waitingLabels } = this
    this.waitingLabels = undefined
    return this.writer.write(deltas, waitingLabels === undefined ? labels : { ...waitingLabels, ...labels })
  }
}
