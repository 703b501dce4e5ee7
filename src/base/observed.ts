/** A set whose items can be added several times. An item stays until each addition has ended. */
export class Observed<Item extends object> {
  private readonly given = new Set<{ readonly item: Item }>()

  /** Returns a function that ends this addition. */
  add(item: Item): () => void {
    const one = { item }
    this.given.add(one)
    return () => {
      this.given.delete(one)
    }
  }

  /** Each item once. */
  get items(): ReadonlySet<Item> {
    return new Set([...this.given].map(({ item }) => item))
  }
}
