import type { JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { BodyWriter } from '../../chat/reply/body-writer.js'
import type { ReplyTop } from '../../chat/reply/chunk-writer.js'
import { OutputItems } from './output-items.js'
import { type AboutResponse, responseObject, responseUsage } from './response-object.js'

/** Writes a response as one JSON body. */
export class ResponseBody extends BodyWriter {
  /** The items of the provider's reply, in its order. */
  private items: OutputItems | undefined
  private isDiscarded = false
  private reason: string | undefined

  constructor(private readonly about: AboutResponse) {
    super()
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
  }

  override body(_top: ReplyTop, _labels: JsonObject, charge: WireCharge): string {
    this.items?.keep()
    const { reason } = this
    const status = reason === undefined ? 'completed' : 'incomplete'
    const top = responseObject(this.about, { status, reason, usage: responseUsage(charge) })
    return `${toLatin1(JSON.stringify(top)).slice(0, -1)},"output":${this.choices ?? '[]'}}`
  }

  /** Accepts the choices of a provider's body. */
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
  }

  private newItems(): OutputItems {
    return new OutputItems(this.about, () => {})
  }
}
