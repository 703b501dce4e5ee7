/** The latest `max` keys, in the order in which they were added. */
export class RecentKeys {
  /** Once there are `max` keys, each new key replaces the oldest. */
  private readonly keys: string[] = []
  private readonly max: number
  private oldest = 0

  constructor(max: number) {
    this.max = max
  }

  /** Returns the key that the new one replaces. */
  add(key: string): string | undefined {
    if (this.keys.length < this.max) {
      this.keys.push(key)
      return undefined
    }
    const replaced = this.keys[this.oldest]
    this.keys[this.oldest] = key
    this.oldest = (this.oldest + 1) % this.max
    return replaced
  }
}

/** A map that keeps the latest `max` keys. Adding one more forgets the oldest. */
export class RecentMap<Value> {
  private readonly values = new Map<string, Value>()
  private readonly keys: RecentKeys
  private readonly forgotten: (key: string, value: Value) => void

  /** Calls `forgotten` for each key that is replaced by a new one, unless it was deleted before. */
  constructor(max: number, forgotten: (key: string, value: Value) => void) {
    this.keys = new RecentKeys(max)
    this.forgotten = forgotten
  }

  get(key: string): Value | undefined {
    return this.values.get(key)
  }

  /** Adds a key that the map does not have. */
  add(key: string, value: Value): void {
    const oldest = this.keys.add(key)
    if (oldest !== undefined) this.forget(oldest)
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
