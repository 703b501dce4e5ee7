/** Finds at which position an id stands, in a log that forgets its oldest. */
export interface IdIndex {
  add(id: string, position: number): void
  /** Asks `standsAt` of each position where the id may stand, and returns the first that is confirmed. */
  find(id: string, standsAt: (position: number) => boolean): number | undefined
}

const FIRST_SLOTS = 1_024
const EMPTY = -1
/** Slots for each id after a rebuilding, and the least before the next. */
const ROOMY = 4
const CROWDED = 2

/**
 * A hash table in typed arrays: hashes of ids and their positions, not the ids. A `Map` of very many ids that grows with
 * each call slowed each down by a fifth, since the garbage collector has to look at it again and again.
 *
 * Positions below what `oldest` returns are forgotten. They leave the table when it is rebuilt.
 */
export function createIdIndex(oldest: () => number): IdIndex {
  let hashes = new Uint32Array(FIRST_SLOTS)
  let positions = new Float64Array(FIRST_SLOTS).fill(EMPTY)
  let used = 0

  function put(hash: number, position: number): void {
    const mask = positions.length - 1
    let slot = hash & mask
    while (positions[slot] !== EMPTY) slot = (slot + 1) & mask
    hashes[slot] = hash
    positions[slot] = position
    used++
  }

  function rebuild(): void {
    const [oldHashes, oldPositions, first] = [hashes, positions, oldest()]
    let kept = 0
    for (const position of oldPositions) if (position >= first) kept++
    let slots = FIRST_SLOTS
    while (slots < kept * ROOMY) slots *= 2
    hashes = new Uint32Array(slots)
    positions = new Float64Array(slots).fill(EMPTY)
    used = 0
    for (const [slot, position] of oldPositions.entries())
      if (position >= first) put(oldHashes[slot]!, position)
  }

  return {
    add(id, position) {
      if ((used + 1) * CROWDED > positions.length) rebuild()
      put(hashOf(id), position)
    },
    find(id, standsAt) {
      const mask = positions.length - 1
      const hash = hashOf(id)
      for (let slot = hash & mask; positions[slot] !== EMPTY; slot = (slot + 1) & mask) {
        const position = positions[slot]!
        if (hashes[slot] === hash && position >= oldest() && standsAt(position)) return position
      }
      return undefined
    },
  }
}

/** FNV-1a over UTF-16 code units. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
