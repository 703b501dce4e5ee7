import type { JsonObject } from '../../../protocol/json-values.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { BodyWriter } from '../../chat/reply/body-writer.js'
import type { ReplyTop } from '../../chat/reply/chunk-writer.js'
import { OutputItems } from './output-items.js'
import { type AboutResponse, responsePieces, responseUsage } from './response-object.js'

/** Writes a response as one JSON body. */
export class ResponseBody extends BodyWriter {
  /** The items of the provider's reply, in its order. */
  private items: OutputItems | undefined
  private isDiscarded = false
  private reason: string | undefined

  constructor(private readonly about: AboutResponse) {
    super()
  }

  override get keptBytes(): number {
    return super.keptBytes + (this.items?.bytes ?? 0) + this.about.repeated.bytes
  }

  override add(choices: readonly JsonObject[]): void {
    if (this.isDiscarded) return
    this.items ??= this.newItems()
    for (const choice of choices) this.items.add(choice)
  }

  override discard(): void {
    this.isDiscarded = true
    this.items = undefined
  }

  override endChoices(lostToolCalls: (choice: number) => readonly number[]): void {
    const items = this.items ?? this.newItems()
    items.end(true)
    this.reason = items.incompleteReason
    this.choices = this.writeSafely(items.without(lostToolCalls(0)))
    items.forgetProbabilities()
  }

  override body(_top: ReplyTop, _labels: JsonObject, charge: WireCharge): string {
    this.items?.keep()
    const { reason } = this
    const status = reason === undefined ? 'completed' : 'incomplete'
    const state = { status, reason, usage: responseUsage(charge) } as const
    return [...responsePieces(this.about, state, [this.takeChoices()])].join('')
  }

  /** Adds the choices of a provider's body. */
  override takeWhole(choices: readonly JsonObject[]): void {
    const items = this.newItems()
    this.items = items
    for (const { finish_reason: reason, logprobs, message } of choices) {
      items.addMessage(message as JsonObject, logprobs)
      items.finishReason = reason
    }
    items.end(true)
    this.reason = items.incompleteReason
    this.choices = this.writeSafely(items.output)
    items.forgetProbabilities()
  }

  /** A body contains the log probabilities once, so it keeps them all. */
  private newItems(): OutputItems {
    return new OutputItems(this.about, () => {}, Infinity)
  }
}
