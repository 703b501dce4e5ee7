/** A map that keeps the latest `max` keys. Adding one more forgets the oldest. */
export class RecentMap<Value> {
  private readonly values = new Map<string, Value>()
  /** In insertion order. Once there are `max` keys, each new key replaces the oldest. */
  private readonly keys: string[] = []
  private readonly max: number
  private readonly forgotten: (key: string, value: Value) => void
  private oldest = 0

  /** Calls `forgotten` for each key that is replaced by a new one, unless it was deleted before. */
  constructor(max: number, forgotten: (key: string, value: Value) => void) {
    this.max = max
    this.forgotten = forgotten
  }

  get(key: string): Value | undefined {
    return this.values.get(key)
  }

  /** Adds a key that the map does not have. */
  add(key: string, value: Value): void {
    if (this.keys.length < this.max) this.keys.push(key)
    else {
      this.forget(this.keys[this.oldest]!)
      this.keys[this.oldest] = key
      this.oldest = (this.oldest + 1) % this.max
    }
    this.values.set(key, value)
  }

  delete(key: string): void {
    this.values.delete(key)
  }

  private forget(key: string): void {
    const value = this.values.get(key)
    if (value === undefined) return
    this.values.delete(key)
    this.forgotten(key, value)
  }
}
