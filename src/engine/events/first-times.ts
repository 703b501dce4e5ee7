/** Callers and providers make up what is reported, so no more is remembered. */
const MAX_REMEMBERED = 1_000

/** Tells what is reported to the host for the first time. */
export class FirstTimes {
  /** In the order in which they came. */
  private readonly seen = new Set<string>()

  isFirst(key: string): boolean {
    if (this.seen.has(key)) return false
    const [oldest] = this.seen
    if (this.seen.size >= MAX_REMEMBERED) this.seen.delete(oldest!)
    this.seen.add(key)
    return true
  }
}
