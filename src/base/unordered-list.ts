/** An item of an {@link UnorderedList}. */
export interface Listed {
  /** Its position in the list, otherwise -1. */
  slot: number
}

/**
 * A list without an order. An item is added or removed in constant time, and is in at most one list.
 *
 * It is not a `Set`, because a set that is constantly filled and emptied leaves a chain of tables that keeps removed
 * items alive.
 */
export class UnorderedList<Item extends Listed> {
  private readonly list: Item[] = []

  get items(): readonly Item[] {
    return this.list
  }

  add(item: Item): void {
    item.slot = this.list.push(item) - 1
  }

  /** Does nothing if the item is in no list. */
  remove(item: Item): void {
    if (item.slot < 0) return
    const last = this.list.pop()!
    if (last !== item) {
      this.list[item.slot] = last
      last.slot = item.slot
    }
    item.slot = -1
  }
}
