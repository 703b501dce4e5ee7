import { TextEncoder } from 'node:util'
import type { TokenCounter, TokenTally } from '../../contracts/token-counter.js'
import { isCount } from '../../protocol/usage.js'
import { LongestBytes } from './longest-bytes.js'
import { COST_PER_TOKEN, costOf, PADDING_BYTES } from './text-tokens.js'

const FEWEST_BYTES_PER_TOKEN = 3
const MOST_BYTES_PER_TOKEN = 4
/** The number of bytes read at a time. */
const BUFFER_BYTES = 65_536

/**
 * The default for prompts. A hold counts text by the kinds of its characters. A charge counts 4 bytes of UTF-8 as a
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
    return Math.ceil(this.cost / COST_PER_TOKEN)
  }

  atLeast(): number {
    return Math.floor(this.bytes / MOST_BYTES_PER_TOKEN)
  }
}

/**
 * The default for replies. A token is 3 bytes of UTF-8 if an undercount would be wrong, and 4 if an overcount would.
 */
export const byteRatioCounter: TokenCounter = { tally: () => new ByteTally() }

/**
 * Counts the bytes of UTF-8, or of the compatibility form if that is longer, since some tokenizers normalise first. No
 * tokenizer makes more tokens.
 */
export function createByteCounter(): TokenCounter {
  let longest: LongestBytes | undefined
  const bytesOf = (text: string): number => {
    const bytes = Buffer.byteLength(text)
    if (bytes === text.length) return bytes
    longest ??= new LongestBytes()
    return longest.of(text)
  }
  return { tally: () => new UpperTally(bytesOf) }
}

class UpperTally implements TokenTally {
  private bytes = 0

  constructor(private readonly bytesOf: (text: string) => number) {}

  add(text: string): void {
    this.bytes += this.bytesOf(text)
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

/**
 * Wraps a host's counter, whose counts become amounts of money. Throws an error with the counter's name if a count is
 * no whole number from 0 up.
 */
export function checkedCounter(counter: TokenCounter): TokenCounter {
  return { tally: () => new CheckedTally(counter.tally()) }
}

class CheckedTally implements TokenTally {
  readonly addMedia: TokenTally['addMedia']

  constructor(private readonly tally: TokenTally) {
    if (tally.addMedia !== undefined) this.addMedia = (part) => tally.addMedia!(part)
  }

  add(text: string): void {
    this.tally.add(text)
  }

  atMost(): number {
    return checked('atMost', this.tally.atMost())
  }

  atLeast(): number {
    return checked('atLeast', this.tally.atLeast())
  }
}

function checked(method: 'atMost' | 'atLeast', count: unknown): number {
  if (isCount(count)) return count
  // A counter that is asynchronous by mistake may reject later, which would end the process.
  if (count instanceof Promise) count.catch(() => {})
  throw new TypeError(
    `The tokenCounter broke its contract: ${method}() must return a whole number from 0 up; got ${String(count)}.`,
  )
}
