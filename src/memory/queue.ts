/** First in, first out, with positions that stay the same while older items leave. */
export interface Queue<Item> {
  /** The position of the oldest item. */
  readonly start: number
  /** The position that the next item gets. */
  readonly end: number
  push(item: Item): void
  /** The item at a position, or undefined where there is none from `start` to `end - 1`. */
  at(position: number): Item | undefined
  /** Takes out the oldest. */
  shift(): Item | undefined
}

const CHUNK_ITEMS = 16_384

/** Kept in chunks, so that neither growing nor shrinking ever moves what is there. */
export function createQueue<Item>(): Queue<Item> {
  const chunks = new Map<number, Item[]>()
  let start = 0
  let end = 0
  const at = (position: number): Item | undefined =>
    position < start ? undefined : chunks.get(Math.floor(position / CHUNK_ITEMS))?.[position % CHUNK_ITEMS]
  return {
    get start() {
      return start
    },
    get end() {
      return end
    },
    push(item) {
      const number = Math.floor(end / CHUNK_ITEMS)
      const chunk = chunks.get(number)
      if (chunk === undefined) chunks.set(number, [item])
      else chunk.push(item)
      end++
    },
    at,
    shift() {
      if (start === end) return undefined
      const item = at(start)
      start++
      if (start % CHUNK_ITEMS === 0) chunks.delete(start / CHUNK_ITEMS - 1)
      return item
    },
  }
}
