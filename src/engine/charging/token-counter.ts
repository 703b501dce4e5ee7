import { fromLatin1 } from '../../protocol/latin1.js'

/**
 * Counts tokens where a provider does not say: how many a hold must cover, and what a call that was cut off is charged.
 * A tokenizer may stand in for the default.
 */
export interface TokenCounter {
  /** An empty tally. What the tallies of a prompt say is added up; each choice of a reply has one. */
  tally(): TokenTally
}

export interface TokenTally {
  /** Adds text: the content or another field of a message, a field of the request, or the next piece of a reply. */
  add(text: string): void
  /** No fewer tokens than the text has, a whole number; sizes a hold. */
  atMost(): number
  /** No more tokens than the text has, a whole number; what is charged. */
  atLeast(): number
  /**
   * Adds an image, a recording, a video or a file: a content part of the request, as OpenAI's API has it. Counts in
   * {@link atMost}. Without it such parts are estimated, or bounded by the catalogue under `neverOverdraw`.
   */
  addMedia?(part: Readonly<Record<string, unknown>>): void
}

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
