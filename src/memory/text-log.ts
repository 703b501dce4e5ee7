import { createQueue } from './queue.js'

/** Texts in order, each at a position that stays the same while older ones leave. None may hold a line feed. */
export interface TextLog {
  /** The position of the oldest text. */
  readonly start: number
  /** The position that the next text gets. */
  readonly end: number
  push(text: string): void
  /** The text at a position, or undefined where there is none from `start` to `end - 1`. */
  at(position: number): string | undefined
  /** Takes out the oldest. */
  shift(): void
}

const CHUNK_TEXTS = 128
const SEPARATOR = '\n'

/**
 * Keeps all but the latest texts as bytes outside of the JavaScript heap. A ledger keeps very many: strings would be
 * carried and marked by the garbage collector, which took a fifth of a busy server's time.
 */
export function createTextLog(): TextLog {
  const chunks = createQueue<Buffer>()
  let latest: string[] = []
  let start = 0
  let read: { readonly chunk: Buffer; readonly texts: readonly string[] } | undefined

  const end = (): number => chunks.end * CHUNK_TEXTS + latest.length

  /** Texts are read in order, if at all. */
  function textsOf(chunk: Buffer): readonly string[] {
    if (read?.chunk !== chunk) read = { chunk, texts: chunk.toString().split(SEPARATOR) }
    return read.texts
  }

  return {
    get start() {
      return start
    },
    get end() {
      return end()
    },
    push(text) {
      latest.push(text)
      if (latest.length < CHUNK_TEXTS) return
      chunks.push(Buffer.from(latest.join(SEPARATOR)))
      latest = []
    },
    at(position) {
      if (position < start || position >= end()) return undefined
      const chunk = chunks.at(Math.floor(position / CHUNK_TEXTS))
      return (chunk === undefined ? latest : textsOf(chunk))[position % CHUNK_TEXTS]
    },
    shift() {
      if (start === end()) return
      start++
      if (start % CHUNK_TEXTS === 0) chunks.shift()
    },
  }
}
