import { type CompatError, isProviderError, ProviderError } from '../../../base/errors.js'
import type { Reply, ReplyEvent, ReplyParts } from '../../../contracts/operation.js'
import type { ReasoningName } from '../../../contracts/reasoning-name.js'
import type { ReplyBytes } from '../../../contracts/reply.js'
import { type Delta, isPhase, type MessageBegin } from '../../../conversation/delta.js'
import type { FinishReason } from '../../../protocol/finish-reason.js'
import { isObject, isTooDeep, type JsonObject, saysNothing } from '../../../protocol/json-values.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { ChoiceFailure, endedWithoutOutput } from '../../../replies/choice-failure.js'
import { ChoiceStream } from '../../../replies/choice-stream.js'
import { invalidReply, withoutDepths } from '../../../replies/delta.js'
import type { DeltaWriter, Labels } from '../../../replies/delta-writer.js'
import { LostPieces } from '../../../replies/lost-pieces.js'
import { parseEvent, saysFailure } from '../../../replies/parse-event.js'
import { choiceIndex, OUT_OF_RANGE, readChoices, saidIn } from '../../../replies/whole-choices.js'
import { ChatWriter } from './chat-writer.js'
import { ReplyLabels } from './reply-labels.js'
import { Splicer } from './splice.js'

const NO_LABELS: Labels = Object.freeze({})

/** The part of a request that its reply depends on. */
export interface AskedReply {
  /** The model key of the request. */
  readonly model: string
  readonly stream: boolean
  /** The number of choices requested. */
  readonly n: number
  readonly reasoningName: ReasoningName
  /** The texts at which the client asked to stop, if its reply says which of them it was. */
  readonly stopSequences?: ReadonlySet<unknown>
}

/**
 * Reads the events of one provider, from JSON or a stream, into deltas for the writer of one API, and into the facts that
 * a charge depends on. Decides nothing about money.
 */
export class ChatReply implements Reply {
  private spokenEvents = 0
  private hasBegun = false
  failure: ProviderError | undefined
  private pending = ''
  private readonly writer: DeltaWriter
  /** Only for a stream of the same API. */
  private readonly splicer: Splicer | undefined
  private templateChoice: ChoiceStream | undefined
  /** In the order in which they started. */
  private readonly choices: ChoiceStream[] = []
  private cameWhole = false
  private readonly lost: LostPieces
  /** Whether the end of the choices could not be sent. */
  private lostItsEnd = false
  private readonly labels = new ReplyLabels()
  /** Lists from an event without choices, for the next chunk. Undefined if there are none. */
  private waitingLabels: Labels | undefined
  private hasRenumbered = false
  /** Whether the choices of a JSON body are written. */
  private hasEndedBody = false

  constructor(
    private readonly parts: ReplyParts,
    private readonly asked: AskedReply,
    writer?: DeltaWriter,
  ) {
    const { counter, created, id, splice } = parts
    const { model, reasoningName, stream } = asked
    this.lost = new LostPieces(counter)
    this.writer = writer ?? new ChatWriter({ id, created, model }, reasoningName, stream)
    this.splicer = stream && splice && writer === undefined ? new Splicer() : undefined
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

  opening(): Iterable<string> | undefined {
    return this.asked.stream ? this.writer.opening?.() : undefined
  }

  /**
   * Accepts the events of one network read.
   *
   * @returns the bytes to send now as latin1: none before the first token, and none if the client asked for a JSON
   * reply. After a `failure` they still include the events before it
   */
  take(events: readonly ReplyEvent[]): string {
    let sent = this.pending
    for (const event of events) {
      if (this.failure !== undefined) break
      try {
        sent += this.takeEvent(event)
      } catch (error) {
        this.failure = isProviderError(error)
          ? error
          : new ProviderError('invalid-response', 'The provider sent an event that cannot be read.', {
              cause: error,
            })
      }
    }
    if (this.begun) {
      this.pending = ''
      return sent
    }
    this.pending = sent
    return ''
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
    for (const choice of this.choices) this.pending += this.write(choice.end(reason), labels)
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

  /** Returns the JSON reply as latin1. Its choices must have ended. */
  body(charge: WireCharge): string {
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
  private choiceAt(index: number): ChoiceStream {
    for (const choice of this.choices) if (choice.index === index) return choice
    const { asked, lost, parts } = this
    const tally = parts.counter.tally()
    const choice = new ChoiceStream(index, tally, this.newToolCallId, lost, asked.stopSequences)
    this.choices.push(choice)
    return choice
  }

  private takeEvent(event: ReplyEvent): string {
    switch (event.type) {
      case 'data':
        return this.takeData(event.bytes)
      case 'chunk':
        return this.takeChunk(event.chunk)
      case 'completion':
        return this.takeCompletion(event.completion)
      case 'begin':
        return this.takeBegin(event)
      case 'unreadable':
        this.lose(event.why, undefined)
        return ''
      case 'mended':
        this.lost.mend(event.kind, event.dropped)
        return ''
      default:
        throw invalidReply('an event has an unknown type')
    }
  }

  private takeData(bytes: string): string {
    const { splicer } = this
    if (splicer !== undefined && this.waitingLabels === undefined) {
      const spliced = splicer.splice(bytes)
      if (spliced !== undefined) {
        this.templateChoice!.takeText(splicer.text)
        this.spokenEvents++
        return this.lost.why === undefined ? spliced : ''
      }
    }
    const chunk = parseEvent(bytes)
    const { mendCount } = this.lost
    const wasWaiting = this.waitingLabels !== undefined
    const sent = this.takeChunk(chunk)
    // Every repair is counted, so an event like a repaired one must be parsed.
    const isPlain = !wasWaiting && this.lost.mendCount === mendCount
    if (sent !== '' && isPlain && splicer?.learn(bytes, chunk, sent) === true) {
      const [choice] = chunk.choices as { index?: unknown }[]
      this.templateChoice = this.choiceAt(choiceIndex(choice?.index, 0, this.asked.n) ?? 0)
    }
    return sent
  }

  private takeChunk(chunk: JsonObject): string {
    if (saysFailure(chunk)) {
      throw new ProviderError('error-frame', 'The provider sent an error in its stream.')
    }
    const choices = this.choicesIn(chunk)
    const labels = this.takeLabels(chunk)
    const { finished } = this
    try {
      const sent = this.takeChoices(isTooDeep(chunk) ? this.shallow(choices) : choices, labels)
      if (sent === '') this.keepLabels(labels)
      return sent
    } catch (error) {
      this.lostItsEnd = !finished
      throw error
    }
  }

  private choicesIn({ choices }: JsonObject): readonly unknown[] {
    if (Array.isArray(choices)) return choices
    if (!saysNothing(choices)) throw invalidReply('choices is not a list')
    if (choices !== undefined && choices !== null) this.lost.mend('choice-skipped')
    return []
  }

  private shallow(choices: readonly unknown[]): readonly unknown[] {
    return withoutDepths(choices, this.lost)
  }

  private takeChoices(choices: readonly unknown[], labels: Labels): string {
    let sent = ''
    for (const [position, raw] of choices.entries()) {
      if (!isObject(raw) && saysNothing(raw)) {
        this.lost.mend('choice-skipped')
        continue
      }
      const index = isObject(raw) ? choiceIndex(raw.index, position, this.asked.n) : undefined
      if (!isObject(raw) || index === undefined) {
        this.lose(isObject(raw) ? OUT_OF_RANGE : 'a choice is not an object', saidIn(raw))
        continue
      }
      const choice = this.choiceAt(index)
      const providerChoice = this.asked.n === 1 ? this.providerChoiceOf(raw.index, position) : 0
      const deltas: Delta[] = []
      if (choice.take(raw, deltas, providerChoice)) this.sawToken()
      sent += this.write(deltas, labels)
    }
    return sent
  }

  /** Returns the lane for a provider's choice. If one choice was requested, all belong to it. */
  private providerChoiceOf(given: unknown, position: number): number {
    const providerChoice = Number.isInteger(given) ? (given as number) : position
    if (providerChoice !== 0 && !this.hasRenumbered) {
      this.hasRenumbered = true
      this.lost.mend('choice-renumbered')
    }
    return providerChoice
  }

  private takeBegin(begun: MessageBegin): string {
    const index = choiceIndex(begun.choice, 0, this.asked.n)
    if (index === undefined || !isPhase(begun.phase))
      throw invalidReply('the start of a message has no phase')
    const deltas: Delta[] = []
    this.choiceAt(index).takeBegin(begun, deltas)
    return this.write(deltas, NO_LABELS)
  }

  private takeCompletion(completion: JsonObject): string {
    const { asked } = this
    const { choices, lost } = readChoices(completion, asked.n, this.newToolCallId, this.lost)
    const labels = this.takeLabels(completion)
    const { finished } = this
    let sent = ''
    let spoken = 0
    try {
      for (const whole of choices) {
        const deltas: Delta[] = []
        if (this.choiceAt(whole.index).takeWhole(whole, deltas, asked.stream)) spoken++
        sent += this.write(deltas, labels)
      }
      if (sent === '') this.keepLabels(labels)
      // A reply without choices gets an empty one at its end, because clients read the first one without a check.
      if (!asked.stream && choices.length > 0) this.endAll('stop')
    } catch (error) {
      this.lostItsEnd = !finished
      throw error
    }
    // Only now: a reply that cannot be written is not charged, and the next route may answer.
    for (; spoken > 0; spoken--) this.sawToken()
    this.cameWhole = true
    // A stream sends all readable content of a JSON reply before it reports an unreadable piece.
    for (const [what, piece] of lost) this.lose(what, piece)
    return sent
  }

  /** Records an unreadable piece outside of any choice. */
  private lose(what: string, piece: unknown): void {
    this.lost.add(what, piece)
  }

  private sawToken(): void {
    this.spokenEvents++
    this.hasBegun = true
  }

  /** @returns the provider's top-level fields that a chunk has too */
  private takeLabels(top: JsonObject): Labels {
    // Labels after a JSON reply do not replace its own.
    if (!this.asked.stream && this.cameWhole) return NO_LABELS
    return this.labels.take(top, this.lost)
  }

  /** Keeps the lists of an event for which no chunk was sent. */
  private keepLabels({ system_fingerprint: _, service_tier: __, ...lists }: Labels): void {
    if (!this.asked.stream || Object.keys(lists).length === 0) return
    this.waitingLabels = Object.assign({}, this.waitingLabels, lists)
  }

  private readonly newToolCallId = (): string => `call_${this.parts.newId()}`

  /** Returns the bytes for some deltas of one choice. None if the client gets a JSON reply. */
  private write(deltas: readonly Delta[], labels: Labels): string {
    if (deltas.length === 0) return ''
    if (!this.asked.stream) return this.writer.write(deltas, labels)
    if (this.lost.why !== undefined) return ''
    const { waitingLabels } = this
    this.waitingLabels = undefined
    return this.writer.write(deltas, waitingLabels === undefined ? labels : { ...waitingLabels, ...labels })
  }
}
