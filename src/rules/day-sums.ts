import { mondayOf } from '../base/periods.js'
import type { Credits } from '../contracts/context.js'
import type { SpentSums } from '../contracts/look-ups.js'

export const DAY_MS = 86_400_000
/** A month has at most this many days, and a week fewer. */
const KEPT_DAYS = 31

/** The sums of amounts by the day of their time, for the periods that {@link SpentSums} names. Days are in UTC, counted from 1970. */
export class DaySums {
  private total = 0n
  private readonly days = new Map<number, Credits>()
  private latest = 0

  /** Adds an amount. Days may come in any order, but a day older than a month only adds to the total. */
  add(day: number, amount: Credits): void {
    this.total += amount
    if (day > this.latest) {
      this.latest = day
      for (const kept of this.days.keys()) if (kept <= day - KEPT_DAYS) this.days.delete(kept)
    }
    if (day > this.latest - KEPT_DAYS) this.days.set(day, (this.days.get(day) ?? 0n) + amount)
  }

  /** Returns the sums at this time, in milliseconds since the Unix epoch. A period with more refunds than charges has 0. */
  at(now: number): SpentSums {
    const today = Math.floor(now / DAY_MS)
    const date = new Date(now)
    const monthStart = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / DAY_MS
    return {
      total: this.total,
      today: this.since(today),
      week: this.since(mondayOf(today)),
      month: this.since(monthStart),
    }
  }

  private since(first: number): Credits {
    let sum = 0n
    for (const [day, amount] of this.days) if (day >= first) sum += amount
    return sum > 0n ? sum : 0n
  }
}
