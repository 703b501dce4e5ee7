/** What is observed, of what may be given several times: each time counts until it is ended. */
export class Observed<Item extends object> {
  private readonly given = new Set<{ readonly item: Item }>()

  /** Returns what ends it. */
  add(item: Item): () => void {
    const one = { item }
    this.given.add(one)
    return () => {
      this.given.delete(one)
    }
  }

  /** Each once. */
  get items(): ReadonlySet<Item> {
    return new Set([...this.given].map(({ item }) => item))
  }
}
