import { type CompatError, isProviderError, ProviderError } from '../../../base/errors.js'
import type { Reply, ReplyEvent, ReplyParts } from '../../../contracts/operation.js'
import type { ReasoningName } from '../../../contracts/reasoning-name.js'
import type { ReplyBytes } from '../../../contracts/reply.js'
import type { FinishReason } from '../../../protocol/finish-reason.js'
import { isObject, isTooDeep, type JsonObject, saysNothing } from '../../../protocol/json-values.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { ChoiceFailure, endedWithoutOutput } from '../../../replies/choice-failure.js'
import { ChoiceStream } from '../../../replies/choice-stream.js'
import { eachText, hasToken, invalidReply, withoutDepths } from '../../../replies/delta.js'
import { LostPieces } from '../../../replies/lost-pieces.js'
import { parseEvent, saysFailure } from '../../../replies/parse-event.js'
import { BodyWriter } from './body-writer.js'
import { ChunkWriter, type ReplyTop, type StreamWriter, writeLabels } from './chunk-writer.js'
import { nameReasoning } from './reasoning-name.js'
import { ReplyLabels } from './reply-labels.js'
import { Splicer } from './splice.js'
import {
  asChunkChoices,
  choiceIndex,
  OUT_OF_RANGE,
  readChoices,
  saidIn,
  type WholeChoice,
} from './whole-reply.js'

const NO_LABELS: JsonObject = Object.freeze({})

/** The part of a request that its reply depends on. */
export interface AskedReply {
  /** The model key of the request. */
  readonly model: string
  readonly stream: boolean
  /** The number of choices requested. */
  readonly n: number
  readonly reasoningName: ReasoningName
}

/** How to write the reply for the clients of one API. */
export interface ReplyWriters {
  stream(top: ReplyTop): StreamWriter
  body(): BodyWriter
}

const CHAT_WRITERS: ReplyWriters = {
  stream: (top) => new ChunkWriter(top),
  body: () => new BodyWriter(),
}

/**
 * Turns the events of one provider into the bytes for one client, and into the facts that a charge depends on.
 *
 * Normalises the reply of any provider, from JSON or a stream into JSON or a stream. Decides nothing about money.
 */
export class ChatReply implements Reply {
  private readonly top: ReplyTop
  private spokenEvents = 0
  private hasBegun = false
  failure: ProviderError | undefined
  private pending = ''
  /** Set if the client gets a stream. */
  private readonly chunkWriter: StreamWriter | undefined
  private readonly splicer: Splicer | undefined
  private templateChoice: ChoiceStream | undefined
  /** Used for a JSON reply. */
  private readonly bodyWriter: BodyWriter
  /** In the order in which they started. */
  private readonly choices: ChoiceStream[] = []
  private cameWhole = false
  private readonly lost: LostPieces
  /** Whether the end of the choices could not be sent. */
  private lostItsEnd = false
  private readonly labels = new ReplyLabels()
  /** Lists from an event without choices, for the next chunk. Undefined if there are none. */
  private waitingLabels: JsonObject | undefined
  private hasRenumbered = false

  constructor(
    private readonly parts: ReplyParts,
    private readonly asked: AskedReply,
    writers = CHAT_WRITERS,
  ) {
    const { counter, created, id, splice } = parts
    const { model, stream } = asked
    this.top = { id, created, model }
    this.lost = new LostPieces(counter)
    this.chunkWriter = stream ? writers.stream(this.top) : undefined
    this.bodyWriter = writers.body()
    this.splicer = stream && splice && writers === CHAT_WRITERS ? new Splicer() : undefined
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
    let bytes = this.pending.length + (this.chunkWriter?.keptBytes ?? 0) + this.bodyWriter.keptBytes
    for (const choice of this.choices) bytes += choice.keptBytes
    return bytes
  }

  opening(): Iterable<string> | undefined {
    return this.chunkWriter?.opening?.()
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
    this.bodyWriter.discard()
    this.chunkWriter?.discard?.()
  }

  /** Ends every choice without a finish reason. Throws a `ProviderError` if the choices cannot be written. */
  endChoices(reason: 'stop' | 'length', hasCountedOutput: boolean): void {
    if (reason === 'stop' && !hasCountedOutput) this.refuseUnknownEnd()
    if (this.bodyWriter.isWhole) return
    if (this.choices.length === 0) this.choiceAt(0)
    const labels = this.labels.forEnd
    for (const choice of this.choices) this.pending += this.write(choice.end(reason), labels)
    if (this.chunkWriter !== undefined) return
    this.bodyWriter.endChoices((index) => this.choiceAt(index).lostToolCalls)
  }

  /** Returns the end of a stream whose choices have ended: the usage with the charge, and `[DONE]`. */
  closing(charge: WireCharge): ReplyBytes {
    const labels = this.waitingLabels === undefined ? '' : writeLabels(this.waitingLabels)
    return this.chunkWriter!.closing(charge, labels, this.pending)
  }

  failing(error: CompatError, charge: WireCharge): ReplyBytes {
    return this.chunkWriter!.failing(error, charge, this.pending)
  }

  /** Returns the JSON reply as latin1. Its choices must have ended. */
  body(charge: WireCharge): string {
    return this.bodyWriter.body(this.top, this.labels.forBody, charge)
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
    const choice = new ChoiceStream(index, this.parts.counter.tally(), this.newToolCallId, this.lost)
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

  private takeChoices(choices: readonly unknown[], labels: JsonObject): string {
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
      const { sent: shaped, token } = choice.take(raw, providerChoice)
      if (token) this.sawToken()
      sent += this.write(shaped, labels)
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

  private takeCompletion(completion: JsonObject): string {
    const { choices, lost } = readChoices(completion, this.asked.n, this.newToolCallId, this.lost)
    let sent = ''
    if (this.chunkWriter !== undefined) {
      sent = this.takeChunk(
        Object.assign({}, completion, { choices: asChunkChoices(choices), error: undefined }),
      )
    } else {
      this.takeLabels(completion)
      // A stream without choices gets an empty one at its end, because clients read the first one without a check.
      if (choices.length > 0) this.takeBody(choices)
    }
    this.cameWhole = true
    // A stream sends all readable content of a JSON reply before it reports an unreadable piece.
    for (const [what, piece] of lost) this.lose(what, piece)
    return sent
  }

  private takeBody(choices: readonly WholeChoice[]): void {
    nameReasoning(choices, this.asked.reasoningName)
    this.bodyWriter.takeWhole(choices)
    for (const { index, message, finish_reason: reason, native_finish_reason: native } of choices) {
      const choice = this.choiceAt(index)
      choice.takeEnd(reason, native)
      if (hasToken(message)) this.sawToken()
      eachText(message, (text) => choice.tally.add(text))
    }
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
  private takeLabels(top: JsonObject): JsonObject {
    // Labels after a JSON reply do not replace its own.
    if (this.chunkWriter === undefined && this.cameWhole) return NO_LABELS
    return this.labels.take(top, this.lost)
  }

  /** Keeps the lists of an event for which no chunk was sent. */
  private keepLabels({ system_fingerprint: _, service_tier: __, ...lists }: JsonObject): void {
    if (this.chunkWriter === undefined || Object.keys(lists).length === 0) return
    this.waitingLabels = Object.assign({}, this.waitingLabels, lists)
  }

  private readonly newToolCallId = (): string => `call_${this.parts.newId()}`

  /** Returns a chunk for each choice, or an empty string if the client gets a JSON reply. */
  private write(choices: readonly JsonObject[], labels = NO_LABELS): string {
    nameReasoning(choices, this.asked.reasoningName)
    if (this.chunkWriter !== undefined) {
      if (this.lost.why !== undefined || choices.length === 0) return ''
      const { waitingLabels } = this
      this.waitingLabels = undefined
      return this.chunkWriter.chunks(
        choices,
        writeLabels(waitingLabels ? { ...waitingLabels, ...labels } : labels),
      )
    }
    this.bodyWriter.add(choices)
    return ''
  }
}
