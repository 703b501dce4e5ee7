import { isProviderError, ProviderError } from '../../../base/errors.js'
import type { Reply, ReplyParts } from '../../../contracts/operation.js'
import type { ProviderEvent } from '../../../contracts/providers.js'
import type { FinishReason } from '../../../protocol/finish-reason.js'
import { isObject, isTooDeep, type JsonObject } from '../../../protocol/json-values.js'
import { isCount } from '../../../protocol/usage.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { ChoiceFailure, endedWithoutOutput } from '../../../replies/choice-failure.js'
import { ChoiceList } from '../../../replies/choice-list.js'
import type { ChoiceStream } from '../../../replies/choice-stream.js'
import { eachText, hasToken, invalidReply, withoutDepths } from '../../../replies/delta.js'
import { LostPieces } from '../../../replies/lost-pieces.js'
import { parseEvent, saysFailure } from '../../../replies/parse-event.js'
import { BodyWriter } from './body-writer.js'
import { ChunkWriter, type ReplyTop, writeLabels } from './chunk-writer.js'
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

/** The part of a request that its reply depends on. */
export interface AskedReply {
  /** The model key of the request. */
  readonly model: string
  readonly stream: boolean
  /** The number of choices requested. */
  readonly n: number
}

/**
 * Turns the events of one provider into the bytes of one client, and into the facts that a charge depends on.
 *
 * It normalises the reply of any provider, from JSON or a stream into JSON or a stream. It decides nothing about money.
 */
export class ChatReply implements Reply {
  private readonly top: ReplyTop
  private spokenEvents = 0
  private hasBegun = false
  failure: ProviderError | undefined
  private pending = ''
  /** Set if the client gets a stream. */
  private readonly chunkWriter: ChunkWriter | undefined
  private readonly splicer: Splicer | undefined
  private templateChoice: ChoiceStream | undefined
  /** For a JSON reply. */
  private readonly bodyWriter = new BodyWriter()
  private readonly choices: ChoiceList
  private cameWhole = false
  /** Whether the provider has reported output tokens. */
  private hasCountedOutput = false
  private readonly lost: LostPieces
  /** Whether the end of the choices could not be sent. */
  private lostItsEnd = false
  private readonly labels = new ReplyLabels()

  constructor(
    private readonly parts: ReplyParts,
    private readonly asked: AskedReply,
  ) {
    const { counter, created, id, splice } = parts
    const { model, stream } = asked
    this.top = { id, created, model }
    this.lost = new LostPieces(counter)
    this.choices = new ChoiceList({
      counter,
      newToolCallId: this.newToolCallId,
      losses: this.lost,
    })
    this.chunkWriter = stream ? new ChunkWriter(this.top) : undefined
    this.splicer = stream && splice ? new Splicer() : undefined
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

  /** Whether every choice that began has its finish reason, or a JSON reply has arrived. */
  get finished(): boolean {
    if (this.lostItsEnd) return false
    if (this.cameWhole) return true
    return this.choices.haveFinished
  }

  get finishReason(): FinishReason | undefined {
    if (this.failure !== undefined) return undefined
    return this.choices.all[0]?.finishReason
  }

  get nativeFinishReason(): string | undefined {
    const failed = this.failure instanceof ChoiceFailure ? this.failure.nativeFinishReason : undefined
    return failed ?? this.choices.all[0]?.nativeFinishReason
  }

  get upstreamId(): string | undefined {
    return this.labels.upstreamId
  }

  get gaveReason(): boolean {
    return this.choices.all.some(({ nativeFinishReason }) => nativeFinishReason !== undefined)
  }

  /**
   * Accepts the events of one network read.
   *
   * @returns the bytes to send now as latin1: none before the first token, and none if the client asked for a
   * JSON reply. After a `failure` they still include the events before it.
   */
  take(events: readonly ProviderEvent[]): string {
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
    return this.choices.tokensAtLeast(maxTokensPerChoice) + this.lost.tokensAtLeast()
  }

  discard(): void {
    this.bodyWriter.discard()
  }

  /** Ends every choice without a finish reason. Throws a `ProviderError` if the choices cannot be written. */
  endChoices(reason: 'stop' | 'length'): void {
    if (reason === 'stop') this.refuseUnknownEnd()
    if (this.bodyWriter.isWhole) return
    if (this.choices.all.length === 0) this.choices.at(0)
    const labels = writeLabels({ ...this.labels.forBody })
    for (const choice of this.choices.all) this.pending += this.write(choice.end(reason), labels)
    if (this.chunkWriter !== undefined) return
    this.bodyWriter.endChoices((index) => this.choices.at(index).lostToolCalls)
  }

  /** Returns the end of a stream whose choices have ended: the usage with the charge, and `[DONE]`. */
  closing(charge: WireCharge): string {
    return this.pending + this.chunkWriter!.closing(charge)
  }

  /** Returns the JSON reply as latin1. Its choices must have ended. */
  body(charge: WireCharge): string {
    return this.bodyWriter.body(this.top, this.labels.forBody, charge)
  }

  /** An unknown reason is a normal end only of a reply that said something, or whose provider counted output. */
  private refuseUnknownEnd(): void {
    if (this.tokenEvents > 0 || this.hasCountedOutput) return
    const unknown = this.choices.unknownReason
    if (unknown === undefined) return
    this.failure = endedWithoutOutput(unknown)
    throw this.failure
  }

  private takeEvent(event: ProviderEvent): string {
    switch (event.type) {
      case 'data':
        return this.takeData(event.bytes)
      case 'chunk':
        return this.takeChunk(event.chunk)
      case 'completion':
        return this.takeCompletion(event.completion)
      case 'usage':
        if (isCount(event.usage.completion) && event.usage.completion > 0) this.hasCountedOutput = true
        this.parts.meter.snapshot(event.usage, this.finished)
        return ''
      case 'unreadable':
        this.lose(event.why, undefined)
        return ''
      default:
        throw invalidReply('an event has an unknown type')
    }
  }

  private takeData(bytes: string): string {
    const { splicer } = this
    if (splicer !== undefined) {
      const spliced = splicer.splice(bytes)
      if (spliced !== undefined) {
        this.templateChoice!.takeText(splicer.text)
        this.spokenEvents++
        this.parts.meter.token()
        return this.lost.why === undefined ? spliced : ''
      }
    }
    const chunk = parseEvent(bytes)
    const sent = this.takeChunk(chunk)
    if (sent !== '' && splicer?.learn(bytes, chunk, sent) === true) {
      const [choice] = chunk.choices as { index?: number }[]
      this.templateChoice = this.choices.at(choice?.index ?? 0)
    }
    return sent
  }

  private takeChunk(chunk: JsonObject): string {
    if (saysFailure(chunk)) {
      throw new ProviderError('error-frame', 'The provider sent an error in its stream.')
    }
    const choices = chunk.choices ?? []
    if (!Array.isArray(choices)) throw invalidReply('choices is not a list')
    const labels = this.takeLabels(chunk)
    const { finished } = this
    try {
      return this.takeChoices(isTooDeep(chunk) ? this.shallow(choices) : choices, labels)
    } catch (error) {
      this.lostItsEnd = !finished
      throw error
    }
  }

  private shallow(choices: readonly unknown[]): readonly unknown[] {
    const { count } = this.lost
    const shallow = withoutDepths(choices, this.lost)
    if (this.lost.count > count) this.parts.meter.token()
    return shallow
  }

  private takeChoices(choices: readonly unknown[], labels: string): string {
    let sent = ''
    for (const [position, raw] of choices.entries()) {
      const index = isObject(raw) ? choiceIndex(raw.index, position, this.asked.n) : undefined
      if (!isObject(raw) || index === undefined) {
        this.lose(isObject(raw) ? OUT_OF_RANGE : 'a choice is not an object', saidIn(raw))
        continue
      }
      const choice = this.choices.at(index)
      const { sent: shaped, token } = choice.take(raw)
      if (token) this.sawToken()
      sent += this.write(shaped, labels)
    }
    return sent
  }

  private takeCompletion(completion: JsonObject): string {
    this.takeLabels(completion)
    const { choices, lost } = readChoices(completion, this.asked.n, this.newToolCallId)
    let sent = ''
    if (this.chunkWriter !== undefined) {
      const { system_fingerprint, service_tier } = completion
      sent = this.takeChunk({ system_fingerprint, service_tier, choices: asChunkChoices(choices) })
    }
    // A reply without choices gets an empty one at its end, because clients read the first choice without a check.
    else if (choices.length > 0) this.takeBody(choices)
    this.cameWhole = true
    // A stream sends all readable content of a JSON reply before it reports an unreadable piece.
    for (const [what, piece] of lost) this.lose(what, piece)
    return sent
  }

  private takeBody(choices: readonly WholeChoice[]): void {
    this.bodyWriter.takeWhole(choices)
    for (const { index, message, finish_reason: reason, native_finish_reason: native } of choices) {
      const choice = this.choices.at(index)
      choice.takeEnd(reason, native)
      if (hasToken(message)) this.sawToken()
      eachText(message, (text) => choice.tally.add(text))
    }
  }

  /** Records an unreadable piece of content outside of any choice. */
  private lose(what: string, piece: unknown): void {
    this.parts.meter.token()
    this.lost.add(what, piece)
  }

  private sawToken(): void {
    this.spokenEvents++
    this.hasBegun = true
    this.parts.meter.token()
  }

  /** @returns the fields of the provider's top level that a chunk has too */
  private takeLabels(top: JsonObject): string {
    // Labels after a JSON reply do not replace its own.
    if (this.chunkWriter === undefined && this.cameWhole) return ''
    this.labels.take(top)
    const { system_fingerprint: fingerprint, service_tier: tier } = top
    if (this.chunkWriter === undefined) return ''
    return writeLabels({
      system_fingerprint: typeof fingerprint === 'string' ? fingerprint : undefined,
      service_tier: typeof tier === 'string' ? tier : undefined,
    })
  }

  private readonly newToolCallId = (): string => `call_${this.parts.newId()}`

  /** Returns a chunk for each choice, or an empty string if the client gets a JSON reply. */
  private write(choices: readonly JsonObject[], labels = ''): string {
    if (this.chunkWriter !== undefined) {
      return this.lost.why === undefined ? this.chunkWriter.chunks(choices, labels) : ''
    }
    this.bodyWriter.add(choices)
    return ''
  }
}
