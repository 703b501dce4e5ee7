import { LongestBytes } from '../../../src/engine/charging/longest-bytes.js'
import { BodyBlocks } from '../../../src/operations/messages/reply/body-blocks.js'
import type { JsonObject } from '../../../src/protocol/json-values.js'

/** Steps that take the square of what is sent, which the measurement must find. */
export const TIME_PLANTS: Readonly<Record<string, () => void>> = {
  /** Normalises a prompt before it is counted, which takes the square of a run of marks. */
  marks() {
    LongestBytes.prototype.of = (text) => Buffer.byteLength(text.normalize('NFKC'))
  },
  /** Copies the citations of a block for each further one, deeply, so that the copies outweigh all else at any speed. */
  citations() {
    const { delta } = BodyBlocks.prototype
    BodyBlocks.prototype.delta = function (given) {
      const blocks: readonly { readonly block: JsonObject }[] = Reflect.get(this, 'blocks')
      const block = blocks.at(-1)?.block
      if (block !== undefined && Array.isArray(block.citations)) {
        block.citations = structuredClone(block.citations)
      }
      return delta.call(this, given)
    }
  },
}
