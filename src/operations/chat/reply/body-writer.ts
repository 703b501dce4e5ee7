import { ProviderError } from '../../../base/errors.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import { type WireCharge, writeUsage } from '../../../protocol/wire-usage.js'
import { ChoiceAccumulator } from './accumulate.js'
import type { ReplyTop } from './chunk-writer.js'

/** What of the provider's top level stands in a reply. */
export interface WrittenLabels {
  readonly system_fingerprint: string | undefined
  readonly service_tier: string | undefined
  /** Lists that are passed on as they came. */
  readonly kept: JsonObject | undefined
}

/** Writes a client's reply in one body, as latin1, of a provider's body or of the choices of its stream. */
export class BodyWriter {
  /** Their JSON is made before anything is charged for them. */
  private choices: string | undefined
  private accumulator: ChoiceAccumulator | undefined
  private isUnread = false

  /** Whether the choices of a body have come. */
  get isWhole(): boolean {
    return this.choices !== undefined
  }

  /** Accepts the choices of a body. Throws a `ProviderError` if they cannot be written. */
  takeWhole(choices: readonly JsonObject[]): void {
    this.choices = toLatin1(writeChoices(choices))
  }

  /** Takes what a chunk brought of choices. */
  add(choices: readonly JsonObject[]): void {
    if (this.isUnread) return
    this.accumulator ??= new ChoiceAccumulator()
    for (const choice of choices) this.accumulator.add(choice)
  }

  /** Nobody reads the reply any more: nothing of a stream is gathered for it. */
  discard(): void {
    this.isUnread = true
    this.accumulator = undefined
  }

  /** Every choice of a stream has ended. Throws a `ProviderError` if they cannot be written. */
  endChoices(lostToolCalls: (choice: number) => readonly number[]): void {
    this.choices = toLatin1(writeChoices(this.accumulator?.finished(lostToolCalls) ?? []))
  }

  /** The reply, its choices having ended. */
  body({ id, created, model }: ReplyTop, labels: WrittenLabels, charge: WireCharge): string {
    const { kept, system_fingerprint, service_tier } = labels
    const json = JSON.stringify({
      id,
      object: 'chat.completion',
      created,
      model,
      system_fingerprint: system_fingerprint ?? null,
      service_tier,
      ...kept,
    })
    const top = toLatin1(json)
    return `${top.slice(0, -1)},"choices":${this.choices ?? '[]'},"usage":${writeUsage(charge)}}`
  }
}

/** What an adapter hands over may be fit for no JSON: a BigInt, for one. */
function writeChoices(choices: readonly JsonObject[]): string {
  try {
    return JSON.stringify(choices)
  } catch (cause) {
    throw new ProviderError('invalid-response', "The provider's reply cannot be written as JSON.", { cause })
  }
}
