import { mendArguments } from '../../../protocol/call-arguments.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { signedCallDetail } from '../../../replies/call-signatures.js'
import { imageAddress, imageText } from '../../../replies/image-text.js'
import { BodyWriter } from '../../chat/reply/body-writer.js'
import type { ReplyTop } from '../../chat/reply/chunk-writer.js'
import { markDetails } from '../reasoning/thoughts.js'
import { detailsOfThinking, hiddenDetails } from './choice-parts.js'
import { writeMessage, writeToolUse } from './event-writer.js'
import { matchedStop, type Stop, stopOf } from './stop.js'

/** Writes a whole message from the choice of a chat. */
export class ChoiceBodyWriter extends BodyWriter {
  private stop: Stop = { reason: 'end_turn', sequence: null }

  constructor(
    private readonly provider: string,
    private readonly stopSequences: ReadonlySet<unknown>,
  ) {
    super()
  }

  override body(top: ReplyTop, _labels: JsonObject, charge: WireCharge): string {
    return writeMessage(top, this.takeChoices(), this.stop, charge)
  }

  protected override write([choice]: readonly JsonObject[]): string {
    const message = isObject(choice?.message) ? choice.message : {}
    if (choice !== undefined) this.stop = stopOf(choice, matchedStop(choice, this.stopSequences))
    return `[${this.blocks(message).join(',')}]`
  }

  private blocks(message: JsonObject): string[] {
    const { content, images, reasoning, reasoning_details: given, refusal, tool_calls: calls } = message
    const details = Array.isArray(given) ? given.filter(isObject) : []
    const blocks: string[] = []
    if (isText(reasoning)) {
      const signature = markDetails(detailsOfThinking(details), this.provider)
      blocks.push(JSON.stringify({ type: 'thinking', thinking: reasoning, signature }))
    } else if (details.length > 0) blocks.push(this.hidden(details))
    const addresses = Array.isArray(images) ? images.map(imageAddress).filter(isText) : []
    const shown = addresses.map(imageText)
    const text = [content, refusal, ...shown].filter(isText).join('')
    if (text !== '') blocks.push(JSON.stringify({ type: 'text', text }))
    for (const call of Array.isArray(calls) ? (calls as JsonObject[]) : []) {
      const signed = signedCallDetail(call)
      if (signed !== undefined && !details.some(({ id }) => id === call.id))
        blocks.push(this.hidden([signed]))
      const { arguments: args, name } = isObject(call.function) ? call.function : {}
      const block = { type: 'tool_use', id: call.id, name }
      blocks.push(writeToolUse(block, mendArguments(isText(args) ? args : '')))
    }
    return blocks
  }

  private hidden(details: readonly JsonObject[]): string {
    const data = markDetails(hiddenDetails(details), this.provider)
    return JSON.stringify({ type: 'redacted_thinking', data })
  }
}
