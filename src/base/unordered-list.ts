/** What can stand in an {@link UnorderedList}. */
export interface Listed {
  /** Where it stands; -1 where it does not. */
  place: number
}

/**
 * Items in no order. Each is added and removed in one step, and is in one list at most.
 *
 * Not a `Set`: one that is filled and emptied all the time leaves a chain of tables behind, which keeps what was removed
 * alive.
 */
export class UnorderedList<Item extends Listed> {
  private readonly list: Item[] = []

  get items(): readonly Item[] {
    return this.list
  }

  add(item: Item): void {
    item.place = this.list.push(item) - 1
  }

  /** Does nothing where it is in no list. */
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
