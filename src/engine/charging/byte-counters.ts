import type { TokenCounter, TokenTally } from '../../contracts/token-counter.js'

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

class ByteTally implements TokenTally {
  private bytes = 0

  add(text: string): void {
    this.bytes += Buffer.byteLength(text)
  }

  atMost(): number {
    return Math.ceil(this.bytes / FEWEST_BYTES_PER_TOKEN)
  }

  atLeast(): number {
    return Math.floor(this.bytes / MOST_BYTES_PER_TOKEN)
  }
}
