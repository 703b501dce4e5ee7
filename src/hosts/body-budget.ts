import { CompatError } from '../base/errors.js'
import { type MemoryBudget, memoryFull } from '../base/memory-budget.js'

/** How many parts an account leaves to others for each part that it uses. */
const PARTS_LEFT = 3

/** The part of the budget that one body uses. */
export interface BodyShare {
  /** Adds bytes to the share. Returns an error, and adds nothing, if there is no room for them. */
  take(bytes: number): CompatError | undefined
  /** Returns the whole share to the budget. */
  free(): void
}

/**
 * The bytes of all request bodies that are being read. An account may use a third of the bytes that it leaves to all
 * others, which is a quarter of the budget if there are no others. Each account that fills its share leaves a smaller
 * share to the next, so together they never use up the budget. A body may use all of it if it is the only one.
 */
export class BodyBudget {
  private bytes = 0
  private readonly accounts = new Map<string, number>()

  constructor(
    readonly limitBytes: number,
    private readonly memory: Pick<MemoryBudget, 'give' | 'take'>,
  ) {}

  /** Throws if there is no room for a body of this size. */
  checkRoomFor(bytes: number, account: string): void {
    const refusal = this.refusal(bytes, account, 0)
    if (refusal !== undefined) throw refusal
  }

  /** Opens an empty share for one body. */
  open(account: string): BodyShare {
    let taken = 0
    const change = (bytes: number): void => {
      taken += bytes
      this.bytes += bytes
      const ofAccount = (this.accounts.get(account) ?? 0) + bytes
      if (ofAccount === 0) this.accounts.delete(account)
      else this.accounts.set(account, ofAccount)
    }
    return {
      take: (bytes) => {
        const refusal = this.refusal(bytes, account, taken)
        if (refusal !== undefined) return refusal
        if (!this.memory.take(bytes)) return memoryFull()
        change(bytes)
        return undefined
      },
      free: () => {
        this.memory.give(taken)
        change(-taken)
      },
    }
  }

  private refusal(bytes: number, account: string, takenByBody: number): CompatError | undefined {
    const left = this.limitBytes - this.bytes - bytes
    if (left < 0) return tooManyBytes()
    const isOnlyBody = this.bytes === takenByBody
    const ofAccount = this.accounts.get(account) ?? 0
    const isFair = (ofAccount + bytes) * PARTS_LEFT <= left
    return isOnlyBody || isFair ? undefined : tooManyBytesOfAccount()
  }
}

function tooManyBytes(): CompatError {
  return new CompatError('overloaded', 'Too many large requests are being read; try again in a moment.', {
    headers: { 'retry-after': '1' },
  })
}

function tooManyBytesOfAccount(): CompatError {
  return new CompatError(
    'rate_limited',
    'Too many large requests of this account are being read; try again in a moment.',
    { headers: { 'retry-after': '1' } },
  )
}
