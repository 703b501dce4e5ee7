/** Callers and providers choose the keys, so memory is bounded. */
const MAX_REMEMBERED = 1_000

/** Recognises reports that the host has had before. */
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
