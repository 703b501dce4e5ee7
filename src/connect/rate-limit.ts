import { LRUCache } from 'lru-cache'

/** The most keys that one limit remembers. Beyond that, the least recently used key starts anew. */
const MAX_KEYS = 20_000
const MINUTE_MS = 60_000

interface Count {
  used: number
  readonly endsAt: number
}

/** Counts the events of a key in windows of one minute, in this process. */
export class RateLimit {
  private readonly counts = new LRUCache<string, Count>({ max: MAX_KEYS })

  constructor(
    private readonly perMinute: number,
    private readonly now: () => number,
  ) {}

  /** Counts an event. Returns the seconds to wait if the key has used up its minute. Otherwise undefined. */
  take(key: string): number | undefined {
    const wait = this.waitOf(key)
    if (wait === undefined) this.count(key).used += 1
    return wait
  }

  /** Returns the seconds to wait if the key has used up its minute. Otherwise undefined. Counts nothing. */
  waitOf(key: string): number | undefined {
    const { used, endsAt } = this.count(key)
    return used < this.perMinute ? undefined : Math.max(1, Math.ceil((endsAt - this.now()) / 1_000))
  }

  private count(key: string): Count {
    const known = this.counts.get(key)
    if (known !== undefined && known.endsAt > this.now()) return known
    const count = { used: 0, endsAt: this.now() + MINUTE_MS }
    this.counts.set(key, count)
    return count
  }
}
