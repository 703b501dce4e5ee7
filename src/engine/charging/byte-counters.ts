import type { TokenCounter, TokenTally } from '../../contracts/token-counter.js'
import { fromLatin1 } from '../../protocol/latin1.js'

const FEWEST_BYTES_PER_TOKEN = 3
const MOST_BYTES_PER_TOKEN = 4

/** A token is 3 bytes of UTF-8 if too few would be wrong, 4 if too many would. The default for replies. */
export const byteRatioCounter: TokenCounter = { tally: () => new ByteTally() }

/**
 * As many tokens as a text has bytes of UTF-8, or its compatibility form if that is longer, which some tokenizers make of
 * it first: no tokenizer makes more.
 */
export const byteCounter: TokenCounter = { tally: () => new UpperTally() }

class UpperTally implements TokenTally {
  private bytes = 0

  add(text: string): void {
    const bytes = Buffer.byteLength(text)
    this.bytes += bytes === text.length ? bytes : Math.max(bytes, Buffer.byteLength(text.normalize('NFKC')))
  }

  atMost(): number {
    return this.bytes
  }

  atLeast(): number {
    return 0
  }
}

/** Adds text that is given as latin1. */
export function addLatin1(tally: TokenTally, bytes: string): void {
  if (tally instanceof ByteTally) tally.addBytes(bytes.length)
  else tally.add(fromLatin1(bytes))
}

class ByteTally implements TokenTally {
  private bytes = 0

  add(text: string): void {
    this.addBytes(Buffer.byteLength(text))
  }

  addBytes(count: number): void {
    this.bytes += count
  }

  atMost(): number {
    return Math.ceil(this.bytes / FEWEST_BYTES_PER_TOKEN)
  }

  atLeast(): number {
    return Math.floor(this.bytes / MOST_BYTES_PER_TOKEN)
  }
}
