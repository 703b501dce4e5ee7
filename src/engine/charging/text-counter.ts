import { TextEncoder } from 'node:util'
import type { TokenCounter, TokenTally } from '../../contracts/token-counter.js'
import { costOf, PADDING_BYTES, toTokens } from './text-tokens.js'

const MOST_BYTES_PER_TOKEN = 4
/** As much text as is read at a time. */
const BUFFER_BYTES = 65_536

/**
 * The default for prompts: a hold counts text by the kinds of its characters, and a charge takes 4 bytes of UTF-8 for a
 * token.
 */
export function createTextCounter(): TokenCounter {
  const encoder = new TextEncoder()
  const buffer = new Uint8Array(BUFFER_BYTES + PADDING_BYTES)
  return { tally: () => new TextTally(encoder, buffer) }
}

class TextTally implements TokenTally {
  private bytes = 0
  private cost = 0
  private readonly target: Uint8Array

  constructor(
    private readonly encoder: TextEncoder,
    private readonly buffer: Uint8Array,
  ) {
    this.target = buffer.subarray(0, BUFFER_BYTES)
  }

  add(text: string): void {
    let from = 0
    while (from < text.length) {
      const { read, written } = this.encoder.encodeInto(from === 0 ? text : text.slice(from), this.target)
      this.bytes += written
      this.cost += costOf(this.buffer, written)
      from += read
    }
  }

  atMost(): number {
    return toTokens(this.cost)
  }

  atLeast(): number {
    return Math.floor(this.bytes / MOST_BYTES_PER_TOKEN)
  }
}
