import { ProviderError } from '../../../base/errors.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import { type WireCharge, writeUsage } from '../../../protocol/wire-usage.js'
import { ChoiceAccumulator } from './accumulate.js'
import type { ReplyTop } from './chunk-writer.js'
import { completeDetails } from './complete-details.js'

/** Writes a client's JSON reply as latin1, from a provider's body or from the choices of its stream. */
export class BodyWriter {
  /** The choices written by {@link write}, before anything was charged for them. */
  protected choices: string | undefined
  private accumulator: ChoiceAccumulator | undefined
  private isUnread = false

  /** Whether the choices of a provider's body have arrived. */
  get isWhole(): boolean {
    return this.choices !== undefined
  }

  /** The approximate memory of the pieces so far. */
  get keptBytes(): number {
    return this.choices?.length ?? this.accumulator?.bytes ?? 0
  }

  /** Adds the choices of a body. Throws a `ProviderError` if they cannot be written. */
  takeWhole(choices: readonly JsonObject[]): void {
    this.choices = this.writeSafely(choices)
  }

  /** Adds the choices of a chunk. */
  add(choices: readonly JsonObject[]): void {
    if (this.isUnread) return
    this.accumulator ??= new ChoiceAccumulator()
    for (const choice of choices) this.accumulator.add(choice)
  }

  /** Stops collecting a stream for a reply that nobody reads any more. */
  discard(): void {
    this.isUnread = true
    this.accumulator = undefined
  }

  /** Called when every choice of a stream has ended. Throws a `ProviderError` if they cannot be written. */
  endChoices(lostToolCalls: (choice: number) => readonly number[]): void {
    this.choices = this.writeSafely(this.accumulator?.finished(lostToolCalls) ?? [])
    this.accumulator = undefined
  }

  /** Returns the reply. Its choices must have ended. */
  body({ id, created, model }: ReplyTop, labels: JsonObject, charge: WireCharge): string {
    const top = toLatin1(
      JSON.stringify(Object.assign({ id, object: 'chat.completion', created, model }, labels)),
    )
    return `${top.slice(0, -1)},"choices":${this.takeChoices()},"usage":${writeUsage(charge)}}`
  }

  /** Returns the written choices and releases them. */
  protected takeChoices(): string {
    const { choices = '[]' } = this
    this.choices = undefined
    return choices
  }

  /** Writes the choices of the whole reply for {@link body}. */
  protected write(choices: readonly JsonObject[]): string {
    for (const { message } of choices) if (isObject(message)) completeDetails(message)
    return JSON.stringify(choices)
  }

  /** An adapter may pass values that JSON cannot represent, such as a BigInt. */
  protected writeSafely(choices: readonly JsonObject[]): string {
    try {
      return toLatin1(this.write(choices))
    } catch (cause) {
      throw new ProviderError('invalid-response', "The provider's reply cannot be written as JSON.", {
        cause,
      })
    }
  }
}
