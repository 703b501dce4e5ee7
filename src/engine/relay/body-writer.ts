import { ProviderError } from '../../errors.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { toLatin1 } from '../../protocol/latin1.js'
import { type WireCharge, writeUsage } from '../../protocol/wire-usage.js'
import { ChoiceAccumulator } from './accumulate.js'
import type { ReplyTop } from './chunk-writer.js'

export interface BodyLabels {
  readonly system_fingerprint: string | null
  readonly service_tier: string | undefined
}

/** Writes a client's reply in one body, as latin1, of a provider's body or of the choices of its stream. */
export class BodyWriter {
  /** Their JSON is made before anything is charged for them. */
  private choices: string | undefined
  private accumulator: ChoiceAccumulator | undefined

  /** Whether the choices of a body have come. */
  get isWhole(): boolean {
    return this.choices !== undefined
  }

  /** Takes the choices of a body, their strings text or latin1. Throws a `ProviderError` where they cannot be written. */
  takeWhole(choices: readonly JsonObject[], isLatin1: boolean): void {
    const json = writeChoices(choices)
    this.choices = isLatin1 ? json : toLatin1(json)
  }

  /** Takes what a chunk brought of choices. */
  add(choices: readonly JsonObject[]): void {
    this.accumulator ??= new ChoiceAccumulator()
    for (const choice of choices) this.accumulator.add(choice)
  }

  /** Every choice of a stream has ended. Throws a `ProviderError` where they cannot be written. */
  endChoices(): void {
    this.choices = toLatin1(writeChoices(this.accumulator?.finished() ?? []))
  }

  /** The reply, its choices having ended. */
  body({ id, created, model }: ReplyTop, labels: BodyLabels, charge: WireCharge): string {
    const { system_fingerprint: fingerprint, service_tier: tier } = labels
    const top = `"id":${JSON.stringify(id)},"object":"chat.completion","created":${created},"model":${JSON.stringify(model)}`
    const rest = `"system_fingerprint":${JSON.stringify(fingerprint)}${tier === undefined ? '' : `,"service_tier":${JSON.stringify(tier)}`}`
    return `{${toLatin1(top)},"choices":${this.choices ?? '[]'},"usage":${writeUsage(charge)},${toLatin1(rest)}}`
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
