/** A seeded source of choices: the same seed makes the same choices, on every machine. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  next(): number
  /** An integer from `from` to `to`, both included. */
  int(from: number, to: number): number
  chance(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
  /** Picks by weight. */
  weighted<Item>(items: readonly (readonly [weight: number, item: Item])[]): Item
}

/** Seeds as typed. Any text is valid, and a number and its text are the same seed. */
export function createRandom(seed: string): Random {
  const [one, two, three, four] = [1, 2, 3, 4].map((salt) => hashText(`${salt}:${seed}`))
  let [a, b, c, d] = [one!, two!, three!, four!]
  // Small Fast Counter, 32 bits.
  const next = (): number => {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 4_294_967_296
  }
  for (let round = 0; round < 12; round++) next()
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    int,
    chance: (share) => next() < share,
    pick: (items) => items[int(0, items.length - 1)]!,
    weighted(items) {
      let left = next() * items.reduce((sum, [weight]) => sum + weight, 0)
      for (const [weight, item] of items) {
        left -= weight
        if (left < 0) return item
      }
      return items.at(-1)![1]
    },
  }
}

/** FNV-1a, mixed so that texts that differ in one digit start far apart. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) | 0
}
