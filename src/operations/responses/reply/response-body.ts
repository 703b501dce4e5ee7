import type { JsonObject } from '../../../protocol/json-values.js'
import { fromLatin1, toLatin1 } from '../../../protocol/latin1.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { BodyWriter, type WrittenLabels } from '../../chat/reply/body-writer.js'
import type { ReplyTop } from '../../chat/reply/chunk-writer.js'
import { asChunkChoices, type WholeChoice } from '../../chat/reply/whole-reply.js'
import { OutputItems } from './output-items.js'
import { type AboutResponse, responseObject, responseUsage } from './response-object.js'

/** Writes a response as one JSON body. */
export class ResponseBody extends BodyWriter {
  private reason: string | undefined

  constructor(private readonly about: AboutResponse) {
    super()
  }

  override body(_top: ReplyTop, _labels: WrittenLabels, charge: WireCharge): string {
    const { reason } = this
    const status = reason === undefined ? 'completed' : 'incomplete'
    const output: readonly JsonObject[] = JSON.parse(fromLatin1(this.choices ?? '[]'))
    const response = responseObject(this.about, { status, reason, output, usage: responseUsage(charge) })
    return toLatin1(JSON.stringify(response))
  }

  /** Returns the items of the reply. */
  protected override write(choices: readonly JsonObject[]): string {
    const items = new OutputItems(this.about, () => {})
    for (const { finish_reason: reason, ...choice } of choices as readonly WholeChoice[]) {
      for (const chunk of asChunkChoices([{ ...choice, finish_reason: reason }])) {
        items.add({ ...chunk, finish_reason: reason })
      }
    }
    items.end(true)
    this.reason = items.incompleteReason
    return JSON.stringify(items.output)
  }
}
