import { ProviderError } from '../base/errors.js'
import { withItem } from '../base/with-item.js'
import type { Delta, Labels } from '../conversation/delta.js'
import { isInteger, isObject, isTooDeep, type JsonObject, saysNothing } from '../protocol/json-values.js'
import { NO_BYTES, plus, type WireBytes } from '../protocol/wire-bytes.js'
import { ChatChoiceReader } from './chat-choice-reader.js'
import { invalidReply } from './invalid-reply.js'
import type { LostPieces } from './lost-pieces.js'
import { withoutDepths } from './mend-text.js'
import { parseEvent, saysFailure } from './parse-event.js'
import type { ReplyChoice } from './reply-choice.js'
import { Splicer } from './splice.js'
import { choiceIndex, OUT_OF_RANGE, readChoices, saidIn } from './whole-choices.js'

/** The reply that chunks and completions are read into. */
export interface ReadReply {
  readonly lost: LostPieces
  readonly finished: boolean
  /** Whether labels wait for the next chunk. */
  readonly isWaiting: boolean
  choiceAt(index: number): ReplyChoice
  /** Returns the provider's top-level fields that a chunk has too. */
  takeLabels(top: JsonObject): Labels
  sawToken(): void
  /** Returns the bytes for the deltas that one event brought for one choice. */
  write(deltas: readonly Delta[], labels: Labels): WireBytes
  /** Keeps the labels of an event for which nothing was written. */
  keepLabels(labels: Labels): void
  /** Ends all choices of a JSON body. */
  endBody(): void
  /** A whole reply has been read. */
  endWhole(): void
  /** An event could not be read, although a choice in it may have ended. */
  loseEnd(): void
  newToolCallId(): string
}

const NO_CHOICES: readonly ChatChoiceReader[] = []

/** Reads the chunks and completions of a provider of chats into deltas. */
export class ChatReader {
  /** Only for a stream of the same API. */
  private readonly splicer: Splicer | undefined
  private templateChoice: ReplyChoice | undefined
  private choices: readonly ChatChoiceReader[] = NO_CHOICES
  private hasRenumbered = false

  constructor(
    private readonly reply: ReadReply,
    private readonly n: number,
    private readonly isStream: boolean,
    splices: boolean,
  ) {
    this.splicer = splices ? new Splicer() : undefined
  }

  takeData(bytes: WireBytes): WireBytes {
    const { reply, splicer } = this
    if (splicer !== undefined && !reply.isWaiting) {
      const spliced = splicer.splice(bytes)
      if (spliced !== undefined) {
        this.templateChoice!.takeText(splicer.text)
        reply.sawToken()
        return reply.lost.why === undefined ? spliced : NO_BYTES
      }
    }
    const chunk = parseEvent(bytes)
    const { mendCount } = reply.lost
    const wasWaiting = reply.isWaiting
    const sent = this.takeChunk(chunk)
    // Every repair is counted, so an event like a repaired one must be parsed.
    const isPlain = !wasWaiting && reply.lost.mendCount === mendCount
    if (sent !== '' && isPlain && splicer?.learn(bytes, chunk, sent) === true) {
      const [choice] = chunk.choices as { index?: unknown }[]
      this.templateChoice = reply.choiceAt(choiceIndex(choice?.index, 0, this.n) ?? 0)
    }
    return sent
  }

  takeChunk(chunk: JsonObject): WireBytes {
    if (saysFailure(chunk)) {
      throw new ProviderError('error-frame', 'The provider sent an error in its stream.')
    }
    const { reply } = this
    const choices = this.choicesIn(chunk)
    const labels = reply.takeLabels(chunk)
    const { finished } = reply
    try {
      const sent = this.takeChoices(isTooDeep(chunk) ? withoutDepths(choices, reply.lost) : choices, labels)
      if (sent === '') reply.keepLabels(labels)
      return sent
    } catch (error) {
      if (!finished) reply.loseEnd()
      throw error
    }
  }

  takeCompletion(completion: JsonObject): WireBytes {
    const { isStream, n, reply } = this
    const { choices, lost } = readChoices(completion, n, () => reply.newToolCallId(), reply.lost)
    const labels = reply.takeLabels(completion)
    const { finished } = reply
    let sent = NO_BYTES
    let spoken = 0
    try {
      for (const whole of choices) {
        const deltas: Delta[] = []
        if (this.choiceAt(whole.index).takeWhole(whole, deltas, isStream)) spoken++
        sent = plus(sent, reply.write(deltas, labels))
      }
      if (sent === '') reply.keepLabels(labels)
      // A reply without choices gets an empty one at its end, because clients read the first one without a check.
      if (!isStream && choices.length > 0) reply.endBody()
    } catch (error) {
      if (!finished) reply.loseEnd()
      throw error
    }
    // Only now: a reply that cannot be written is not charged, and the next route may answer.
    for (; spoken > 0; spoken--) reply.sawToken()
    reply.endWhole()
    // A stream sends all readable content of a JSON reply before it reports an unreadable piece.
    for (const [what, piece] of lost) reply.lost.add(what, piece)
    return sent
  }

  private choicesIn({ choices }: JsonObject): readonly unknown[] {
    if (Array.isArray(choices)) return choices
    if (!saysNothing(choices)) throw invalidReply('choices is not a list')
    if (choices !== undefined && choices !== null) this.reply.lost.mend('choice-skipped')
    return []
  }

  private takeChoices(choices: readonly unknown[], labels: Labels): WireBytes {
    const { n, reply } = this
    let sent = NO_BYTES
    for (const [position, raw] of choices.entries()) {
      if (!isObject(raw) && saysNothing(raw)) {
        reply.lost.mend('choice-skipped')
        continue
      }
      const index = isObject(raw) ? choiceIndex(raw.index, position, n) : undefined
      if (!isObject(raw) || index === undefined) {
        reply.lost.add(isObject(raw) ? OUT_OF_RANGE : 'a choice is not an object', saidIn(raw))
        continue
      }
      const providerChoice = n === 1 ? this.providerChoiceOf(raw.index, position) : 0
      const deltas: Delta[] = []
      if (this.choiceAt(index).take(raw, deltas, providerChoice)) reply.sawToken()
      sent = plus(sent, reply.write(deltas, labels))
    }
    return sent
  }

  /** Returns the number by which calls of a provider's choice are told apart. If one choice was requested, all belong to it. */
  private providerChoiceOf(given: unknown, position: number): number {
    const providerChoice = isInteger(given) ? given : position
    if (providerChoice !== 0 && !this.hasRenumbered) {
      this.hasRenumbered = true
      this.reply.lost.mend('choice-renumbered')
    }
    return providerChoice
  }

  private choiceAt(index: number): ChatChoiceReader {
    for (const reader of this.choices) if (reader.choice.index === index) return reader
    const reader = new ChatChoiceReader(this.reply.choiceAt(index))
    this.choices = withItem(this.choices, reader)
    return reader
  }
}
