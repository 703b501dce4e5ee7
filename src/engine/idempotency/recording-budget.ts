import type { MemoryBudget } from '../../base/memory-budget.js'

const MEBIBYTE = 1_024 * 1_024
/** A reply of more bytes than this is not kept. */
const REPLY_MAX_BYTES = 4 * MEBIBYTE
/** What the replies of all calls under way are kept in, and how many accounts fill it. */
const TOTAL_MAX_BYTES = 64 * MEBIBYTE
const ACCOUNT_SHARE = 10

/** How much of the replies of running calls is kept for those who come later. */
export class RecordingBudget {
  private total = 0
  private readonly accounts = new Map<string, number>()

  constructor(private readonly memory: Pick<MemoryBudget, 'give' | 'take'>) {}

  /** Room for the reply of one call, empty at first. */
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
  /** Takes so many more bytes, or says that there is no room for them. */
  grow(bytes: number): boolean
  /** Gives everything back. */
  free(): void
}

/** Of a reply that is kept elsewhere already. */
export const KEPT_ELSEWHERE: Reservation = Object.freeze({ grow: () => true, free: () => undefined })
