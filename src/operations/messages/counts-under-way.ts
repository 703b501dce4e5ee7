/** The most counts that one account may have running at providers. */
const MOST_AT_ONCE = 8

/** Limits the running counts of each account, since counts are free. */
export class CountsUnderWay {
  private readonly counts = new Map<string, number>()

  /** Counts one more. Returns a function that ends it. Returns undefined if the account has reached its limit. */
  begin(account: string): (() => void) | undefined {
    const before = this.counts.get(account) ?? 0
    if (before >= MOST_AT_ONCE) return undefined
    this.counts.set(account, before + 1)
    return () => {
      const left = this.counts.get(account)! - 1
      if (left === 0) this.counts.delete(account)
      else this.counts.set(account, left)
    }
  }
}
