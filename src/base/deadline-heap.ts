/** An item of a {@link DeadlineHeap}. */
export interface Due {
  /** Milliseconds since the Unix epoch. Must not change while the item is in a heap. */
  deadline: number
  /** Set by the heap: the item's position, or -1 if it is in no heap. */
  place: number
}

/** A binary heap ordered by deadline. It returns the first item due, and removes any item in logarithmic time. */
export interface DeadlineHeap<Item extends Due> {
  readonly first: Item | undefined
  add(item: Item): void
  /** Does nothing if the item is not in the heap. */
  remove(item: Item): void
}

export function createDeadlineHeap<Item extends Due>(): DeadlineHeap<Item> {
  const items: Item[] = []

  function put(item: Item, place: number): void {
    items[place] = item
    item.place = place
  }

  function rise(item: Item, from: number): number {
    let place = from
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = items[above]!
      if (parent.deadline <= item.deadline) break
      put(parent, place)
      place = above
    }
    put(item, place)
    return place
  }

  function sink(item: Item, from: number): void {
    let place = from
    for (;;) {
      let below = 2 * place + 1
      if (below >= items.length) break
      if (below + 1 < items.length && items[below + 1]!.deadline < items[below]!.deadline) below++
      const child = items[below]!
      if (child.deadline >= item.deadline) break
      put(child, place)
      place = below
    }
    put(item, place)
  }

  return {
    get first() {
      return items[0]
    },
    add(item) {
      items.push(item)
      rise(item, items.length - 1)
    },
    remove(item) {
      const { place } = item
      if (place < 0) return
      item.place = -1
      const last = items.pop()!
      if (last === item) return
      if (rise(last, place) === place) sink(last, place)
    },
  }
}
