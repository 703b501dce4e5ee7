/** An item of a {@link DeadlineHeap}. */
export interface Due {
  /** Milliseconds since the Unix epoch. Must not change while the item is in a heap. */
  deadline: number
  /** Set by the heap: the item's position, or -1 if it is in no heap. */
  slot: number
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

  function put(item: Item, slot: number): void {
    items[slot] = item
    item.slot = slot
  }

  function rise(item: Item, from: number): number {
    let slot = from
    while (slot > 0) {
      const above = (slot - 1) >> 1
      const parent = items[above]!
      if (parent.deadline <= item.deadline) break
      put(parent, slot)
      slot = above
    }
    put(item, slot)
    return slot
  }

  function sink(item: Item, from: number): void {
    let slot = from
    for (;;) {
      let below = 2 * slot + 1
      if (below >= items.length) break
      if (below + 1 < items.length && items[below + 1]!.deadline < items[below]!.deadline) below++
      const child = items[below]!
      if (child.deadline >= item.deadline) break
      put(child, slot)
      slot = below
    }
    put(item, slot)
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
      const { slot } = item
      if (slot < 0) return
      item.slot = -1
      const last = items.pop()!
      if (last === item) return
      if (rise(last, slot) === slot) sink(last, slot)
    },
  }
}
