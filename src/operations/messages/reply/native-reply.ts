import { type CompatError, isProviderError, ProviderError } from '../../../base/errors.js'
import type { Reply, ReplyEvent, ReplyParts } from '../../../contracts/operation.js'
import type { TokenTally } from '../../../contracts/token-counter.js'
import { NAMES_IN_MESSAGES_REPLY, renamed } from '../../../conversation/tool-names.js'
import {
  type FinishReason,
  finishReasonFor,
  isDroppedOutput,
  isUnknownReason,
  mapFinishReason,
} from '../../../protocol/finish-reason.js'
import { isObject, type JsonObject, textOf } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import { cleanLabel } from '../../../protocol/text.js'
import { isCount } from '../../../protocol/usage.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { endedWithoutOutput, readEnd } from '../../../replies/choice-failure.js'
import { invalidReply } from '../../../replies/invalid-reply.js'
import { DROPPED_BY_PROVIDER } from '../../../replies/losses.js'
import { LostPieces } from '../../../replies/lost-pieces.js'
import { parseEvent } from '../../../replies/parse-event.js'
import { BodySink, StreamSink } from './block-sinks.js'
import { errorEvent } from './errors.js'
import { EventWriter, type FirstUsage, type MessageTop, writeMessage } from './event-writer.js'
import { NativeBlocks } from './native-blocks.js'
import { type Stop, stopReason } from './stop.js'
import { plainTextDelta } from './text-delta.js'

const INPUT_COUNTS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
]

/**
 * Passes on the reply of a provider of the Messages API. The message gets this service's id and model, and the usage
 * that is charged. Its blocks are unchanged, except that thinking of models other than Claude is marked.
 */
export class NativeReply implements Reply {
  failure: ProviderError | undefined
  upstreamId: string | undefined
  private readonly events: EventWriter
  private readonly gathered: BodySink
  private readonly blocks: NativeBlocks
  private readonly tally: TokenTally
  private readonly lost: LostPieces
  private pending = ''
  private spokenEvents = 0
  private toolNames: ReadonlyMap<string, string> | undefined
  private reason: string | undefined
  private sequence: string | null = null
  private details: JsonObject | undefined
  /** The provider's edits of the input, if the client asked for them. */
  private edits: JsonObject = {}
  /** Whether output ever followed a stop reason. This provider's stop reasons then end nothing. */
  private wasContinued = false
  private cameWhole = false
  private content = '[]'

  constructor(
    private readonly parts: ReplyParts,
    private readonly top: MessageTop,
    private readonly isStream: boolean,
  ) {
    const { counter, route } = parts
    this.events = new EventWriter(top)
    this.tally = counter.tally()
    this.lost = new LostPieces(counter)
    this.gathered = new BodySink(() => this.lost.mend('member-dropped', 'content.delta'))
    this.blocks = new NativeBlocks({
      sink: isStream ? new StreamSink(this.events) : this.gathered,
      thinker: { provider: route.provider, model: route.upstreamModel },
      losses: this.lost,
      onText: this.addText,
      onToken: this.sawToken,
    })
  }

  get unreadable(): ProviderError | undefined {
    return this.lost.why
  }

  get tokenEvents(): number {
    return this.spokenEvents + this.lost.count
  }

  get begun(): boolean {
    return this.tokenEvents > 0
  }

  get finished(): boolean {
    return this.cameWhole || (this.reason !== undefined && !this.wasContinued)
  }

  get gaveReason(): boolean {
    return this.reason !== undefined
  }

  get finishReason(): FinishReason | undefined {
    return this.reason === undefined || this.failure !== undefined ? undefined : this.finish
  }

  get nativeFinishReason(): string | undefined {
    return this.reason === undefined ? undefined : cleanLabel(this.reason)
  }

  get mends(): Reply['mends'] {
    return this.lost.mends
  }

  get keptBytes(): number {
    return this.pending.length + this.gathered.bytes + this.content.length + this.blocks.waitingBytes
  }

  take(events: readonly ReplyEvent[]): string {
    let sent = this.pending
    for (const event of events) {
      if (this.failure !== undefined) break
      try {
        const wasLost = this.lost.why !== undefined
        const bytes = this.takeEvent(event)
        // Nothing more is sent after an unreadable piece, except the readable blocks of the same whole reply.
        if (this.lost.why === undefined || (!wasLost && event.type === 'native' && this.cameWhole))
          sent += bytes
      } catch (error) {
        this.failure = isProviderError(error) ? error : invalidReply('an event cannot be read', error)
      }
    }
    this.pending = this.begun ? '' : sent
    return this.begun ? sent : ''
  }

  completionAtLeast(maxTokens: number): number {
    return Math.min(this.tally.atLeast(), maxTokens) + this.lost.tokensAtLeast()
  }

  discard(): void {
    this.gathered.discard()
  }

  endChoices(reason: 'stop' | 'length', hasCountedOutput: boolean): void {
    if (reason === 'length' && !this.finished) this.end('max_tokens', {})
    const native = this.reason
    if (native !== undefined && isUnknownReason(native) && this.tokenEvents === 0 && !hasCountedOutput) {
      this.failure = endedWithoutOutput(native)
      throw this.failure
    }
    const rest = this.blocks.end()
    if (this.lost.why === undefined) this.pending += rest
    if (isDroppedOutput(native)) this.lost.add(DROPPED_BY_PROVIDER, undefined)
    if (this.isStream) return
    try {
      this.content = toLatin1(this.gathered.content())
      this.gathered.discard()
    } catch (cause) {
      throw new ProviderError('invalid-response', "The provider's reply cannot be written as JSON.", {
        cause,
      })
    }
  }

  closing(charge: WireCharge): string {
    return this.pending + this.events.end(this.stop, charge, this.edits)
  }

  failing(error: CompatError, charge: WireCharge): string {
    return errorEvent(error, charge)
  }

  body(charge: WireCharge): string {
    const { content } = this
    this.content = ''
    return writeMessage(this.top, content, this.stop, charge, this.edits)
  }

  private get stop(): Stop {
    return {
      reason: stopReason(this.finish, this.reason),
      sequence: this.sequence,
      details: this.details,
    }
  }

  private get finish(): FinishReason {
    const { hadCalls, hasCalls } = this.blocks
    return finishReasonFor(mapFinishReason(this.reason ?? 'end_turn'), hasCalls, hadCalls)
  }

  private takeEvent(event: ReplyEvent): string {
    switch (event.type) {
      case 'native-data':
        return this.takeData(event.bytes)
      case 'native': {
        const { toolNames } = this
        const own = (name: string) => toolNames?.get(name) ?? name
        return this.takeNative(renamed(event.value, NAMES_IN_MESSAGES_REPLY, own))
      }
      case 'tool-names':
        this.toolNames = event.names
        return ''
      case 'unreadable':
        this.lost.add(event.why, undefined)
        return ''
      case 'mended':
        this.lost.mend(event.kind, event.dropped)
        return ''
      default:
        throw invalidReply('an event has an unknown type')
    }
  }

  private takeData(bytes: string): string {
    const plain = this.parts.splice ? plainTextDelta(bytes) : undefined
    const spliced = plain && this.blocks.splice(plain.index, plain.text, bytes)
    return spliced ?? this.takeNative(parseEvent(bytes))
  }

  private takeNative(event: JsonObject): string {
    switch (event.type) {
      case 'message':
        return this.takeWhole(event)
      case 'message_start': {
        const { message } = event
        if (!isObject(message)) throw invalidReply('the message is not an object')
        this.takeId(message)
        return this.isStream ? this.events.start(firstUsage(message.usage)) : ''
      }
      case 'content_block_start':
        return this.blocks.start(event.index, event.content_block)
      case 'content_block_delta':
        return this.blocks.delta(event.index, event.delta)
      case 'content_block_stop':
        return this.blocks.stop(event.index)
      case 'message_delta':
        this.takeEnd(event.delta)
        this.takeEdits(event)
        return ''
      default:
        return ''
    }
  }

  private takeWhole(message: JsonObject): string {
    if (!Array.isArray(message.content)) throw invalidReply('the content is not a list')
    this.takeId(message)
    let sent = this.isStream ? this.events.start(firstUsage(message.usage)) : ''
    for (const block of message.content) sent += this.blocks.whole(block)
    this.takeEnd(message)
    this.takeEdits(message)
    this.cameWhole = true
    return sent
  }

  private takeId({ id }: JsonObject): void {
    const own = textOf(id)
    if (own !== undefined) this.upstreamId ??= cleanLabel(own)
  }

  private takeEnd(given: unknown): void {
    if (!isObject(given)) throw invalidReply('the end of the message is not an object')
    const reason = readEnd({ finish_reason: given.stop_reason })
    if (reason !== undefined) this.end(reason, given)
  }

  private end(reason: string, { stop_details: details, stop_sequence: sequence }: JsonObject): void {
    this.reason = reason
    this.sequence = textOf(sequence) ?? null
    this.details = isObject(details) ? details : undefined
  }

  private takeEdits({ context_management: edits }: JsonObject): void {
    if (isObject(edits)) this.edits = { context_management: edits }
  }

  private readonly addText = (text: string): void => {
    this.tally.add(text)
  }

  private readonly sawToken = (): void => {
    if (this.reason !== undefined) this.wasContinued = true
    this.spokenEvents++
  }
}

function firstUsage(usage: unknown): FirstUsage | undefined {
  if (!isObject(usage)) return undefined
  const counts: Record<string, number> = { input_tokens: 0, output_tokens: 0 }
  for (const name of INPUT_COUNTS) if (isCount(usage[name])) counts[name] = usage[name]
  return counts
}
