/** Finds at which position an id stands, in a log that forgets its oldest. */
export interface IdIndex {
  /** Positions grow from one call to the next. */
  add(id: string, position: number): void
  /** Asks `standsAt` of each position where the id may stand, and returns the first that is confirmed. */
  find(id: string, standsAt: (position: number) => boolean): number | undefined
}

interface Table {
  readonly hashes: Uint32Array
  /** One more than a position; 0 in a slot that is empty. */
  readonly places: Float64Array
  used: number
}

const FIRST_SLOTS = 1_024
/** Slots for each id of a new table, and the least before the next one. */
const ROOMY = 4
const CROWDED = 2
/** Slots of the table before that are moved with each id added. */
const MOVED_AT_ONCE = 16

/**
 * A hash table in typed arrays: hashes of ids and their positions, not the ids. A `Map` of very many ids that grows with
 * each call slowed each down by a fifth, since the garbage collector has to look at it again and again.
 *
 * When a table is crowded, its slots move to a larger one a few at a time: with all at once, one call among a million
 * would wait for them. Positions below what `oldest` returns are forgotten, and are not moved.
 */
export function createIdIndex(oldest: () => number): IdIndex {
  let table = createTable(FIRST_SLOTS)
  /** The table before, while its slots are being moved. */
  let previous: Table | undefined
  let moved = 0

  function startMoving(position: number): void {
    previous = table
    moved = 0
    const kept = Math.min(table.used, position - oldest())
    // What is added until all have moved needs room too.
    const ids = kept + table.places.length / MOVED_AT_ONCE
    let slots = FIRST_SLOTS
    while (slots < ids * ROOMY) slots *= 2
    table = createTable(slots)
  }

  function moveSome({ hashes, places }: Table): void {
    const first = oldest()
    const end = Math.min(moved + MOVED_AT_ONCE, places.length)
    for (; moved < end; moved++) if (places[moved]! > first) put(table, hashes[moved]!, places[moved]!)
    if (moved === places.length) previous = undefined
  }

  function findIn(
    { hashes, places }: Table,
    hash: number,
    standsAt: (position: number) => boolean,
  ): number | undefined {
    const mask = places.length - 1
    for (let slot = hash & mask; places[slot] !== 0; slot = (slot + 1) & mask) {
      const position = places[slot]! - 1
      if (hashes[slot] === hash && position >= oldest() && standsAt(position)) return position
    }
    return undefined
  }

  return {
    add(id, position) {
      if ((table.used + 1) * CROWDED > table.places.length) startMoving(position)
      if (previous !== undefined) moveSome(previous)
      put(table, hashOf(id), position + 1)
    },
    find(id, standsAt) {
      const hash = hashOf(id)
      return findIn(table, hash, standsAt) ?? (previous && findIn(previous, hash, standsAt))
    },
  }
}

/** All empty, and nothing is written to it yet: the operating system gives the memory when it is used. */
function createTable(slots: number): Table {
  return { hashes: new Uint32Array(slots), places: new Float64Array(slots), used: 0 }
}

function put(table: Table, hash: number, place: number): void {
  const { hashes, places } = table
  const mask = places.length - 1
  let slot = hash & mask
  while (places[slot] !== 0) slot = (slot + 1) & mask
  hashes[slot] = hash
  places[slot] = place
  table.used++
}

/** Ids differ most at their end. */
const HASHED_CHARS = 16

/** FNV-1a over the last UTF-16 code units. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5
  for (let index = Math.max(0, id.length - HASHED_CHARS); index < id.length; index++)
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
