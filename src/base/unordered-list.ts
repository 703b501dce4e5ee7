/** An item of an {@link UnorderedList}. */
export interface Listed {
  /** Its position in the list, otherwise -1. */
  place: number
}

/**
 * Items in no order. Each is added and removed in one step, and is in one list at most.
 *
 * Not a `Set`: a set that is constantly filled and emptied leaves a chain of tables that keeps removed items alive.
 */
export class UnorderedList<Item extends Listed> {
  private readonly list: Item[] = []

  get items(): readonly Item[] {
    return this.list
  }

  add(item: Item): void {
    item.place = this.list.push(item) - 1
  }

  /** Does nothing if the item is in no list. */
  remove(item: Item): void {
    if (item.place < 0) return
    const last = this.list.pop()!
    if (last !== item) {
      this.list[item.place] = last
      last.place = item.place
    }
    item.place = -1
  }
}
