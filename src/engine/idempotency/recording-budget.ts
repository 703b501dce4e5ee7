import type { MemoryBudget } from '../../base/memory-budget.js'

const MEBIBYTE = 1_024 * 1_024
/** Larger replies are not kept. */
const REPLY_MAX_BYTES = 4 * MEBIBYTE
/** The memory for the replies of all running calls, and the number of accounts that may fill it. */
const TOTAL_MAX_BYTES = 64 * MEBIBYTE
const ACCOUNT_SHARE = 10

/** Bounds how much of the replies of running calls is kept for later repeats. */
export class RecordingBudget {
  private total = 0
  private readonly accounts = new Map<string, number>()

  constructor(private readonly memory: Pick<MemoryBudget, 'give' | 'take'>) {}

  /** Opens an empty reservation for the reply of one call. */
  open(account: string): Reservation {
    let taken = 0
    return {
      grow: (bytes) => {
        const ofAccount = (this.accounts.get(account) ?? 0) + bytes
        if (taken + bytes > REPLY_MAX_BYTES) return false
        if (this.total + bytes > TOTAL_MAX_BYTES || ofAccount > TOTAL_MAX_BYTES / ACCOUNT_SHARE) return false
        if (!this.memory.take(bytes)) return false
        taken += bytes
        this.total += bytes
        this.accounts.set(account, ofAccount)
        return true
      },
      free: () => {
        const ofAccount = (this.accounts.get(account) ?? 0) - taken
        this.total -= taken
        this.memory.give(taken)
        taken = 0
        if (ofAccount === 0) this.accounts.delete(account)
        else this.accounts.set(account, ofAccount)
      },
    }
  }
}

export interface Reservation {
  /** Reserves this many more bytes. Returns false if there is no room. */
  grow(bytes: number): boolean
  /** Releases the whole reservation. */
  free(): void
}

/** The reservation of a reply that is already kept elsewhere. */
export const KEPT_ELSEWHERE: Reservation = Object.freeze({ grow: () => true, free: () => undefined })
