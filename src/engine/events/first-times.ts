/** Callers and providers choose the keys, so the memory is bounded. */
const MAX_REMEMBERED = 1_000

/** Recognises reports that the host has already received. */
export class FirstTimes {
  /** In order of arrival. */
  private readonly seen = new Set<string>()

  isFirst(key: string): boolean {
    if (this.seen.has(key)) return false
    const [oldest] = this.seen
    if (this.seen.size >= MAX_REMEMBERED) this.seen.delete(oldest!)
    this.seen.add(key)
    return true
  }
}
