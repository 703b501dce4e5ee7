import { CompatError } from './errors.js'

/** A smaller request is not counted, since the call itself takes more memory. */
const SMALL_REQUEST_BYTES = 16 * 1_024
/** A request is in memory three times: as received bytes, as an object, and as bytes to send. */
const COPIES = 3
/** One account may use a quarter of the budget for its requests. */
const ACCOUNT_SHARE = 4
/** Replies wait before the budget is full, which leaves room for the one reply that may continue. */
const REPLIES_WAIT_AT = 3 / 4
/** A reply that keeps less than this part of the budget never waits for room. */
const SMALL_REPLY_SHARE = 256

/**
 * The memory of all running calls: bodies that are being read, requests that a route may still need, the parts of
 * replies that are kept until their end, recordings, and recent items.
 *
 * A full budget refuses new calls. A running call is never stopped: a reply that grows beyond three quarters of the
 * budget waits until there is room. One reply at a time may continue without room, so that they do not all wait for
 * each other.
 */
export class MemoryBudget {
  private used = 0
  private readonly accounts = new Map<string, number>()
  private readonly waiting = new Set<CallMemory>()
  /** The call whose reply may continue without room. */
  private ahead: CallMemory | undefined
  private spare: ((bytes: number) => void) | undefined

  constructor(private readonly limitBytes: number) {}

  /** The bytes counted now. */
  get bytes(): number {
    return this.used
  }

  /** Sets the function that frees at least this many bytes of caches. */
  whenFull(spare: (bytes: number) => void): void {
    this.spare = spare
  }

  /** Throws `memory_full` if there is no room for a new call. */
  checkRoom(): void {
    if (!this.hasRoomFor(1)) throw memoryFull()
  }

  open(account: string): CallMemory {
    return new CallMemory(this, account)
  }

  /** Counts bytes if there is room for them. Returns whether there is. */
  take(bytes: number): boolean {
    if (!this.hasRoomFor(bytes)) return false
    this.used += bytes
    return true
  }

  /** Returns bytes to the budget. */
  give(bytes: number): void {
    if (bytes === 0) return
    this.used -= bytes
    this.resume()
  }

  /** Throws if there is no room for a request of an account. */
  checkRequest(account: string, bytes: number): void {
    const ofAccount = this.accounts.get(account) ?? 0
    const isLarge = ofAccount + bytes > this.limitBytes / ACCOUNT_SHARE
    // An account's only large request must be possible at all.
    if (isLarge && ofAccount > 0) throw tooManyBytesOfAccount()
    // If nothing else is counted, there will never be more room.
    if (!this.hasRoomFor(bytes) && this.used > 0) throw memoryFull()
  }

  /** Counts a request of an account. Throws if there is no room for it. */
  takeRequest(account: string, bytes: number): void {
    this.checkRequest(account, bytes)
    this.used += bytes
    this.accounts.set(account, (this.accounts.get(account) ?? 0) + bytes)
  }

  giveRequest(account: string, bytes: number): void {
    const ofAccount = this.accounts.get(account)! - bytes
    if (ofAccount === 0) this.accounts.delete(account)
    else this.accounts.set(account, ofAccount)
    this.give(bytes)
  }

  /** Counts more bytes of a reply. Returns a promise if the reply should wait until there is room. */
  grow(call: CallMemory, bytes: number): Promise<void> | undefined {
    this.used += bytes
    if (call.keptBytes <= this.limitBytes / SMALL_REPLY_SHARE || this.hasRoomFor(0, REPLIES_WAIT_AT)) {
      return undefined
    }
    this.ahead ??= call
    if (this.ahead === call) return undefined
    this.waiting.add(call)
    return call.wait()
  }

  /** Called when the reply of a call no longer grows. */
  stopWaiting(call: CallMemory): void {
    this.waiting.delete(call)
    if (this.ahead === call) this.ahead = undefined
  }

  private hasRoomFor(bytes: number, share = 1): boolean {
    const limit = this.limitBytes * share
    if (this.used + bytes > limit) this.spare?.(this.used + bytes - limit)
    return this.used + bytes <= limit
  }

  private resume(): void {
    for (const call of this.waiting) {
      if (this.used > this.limitBytes * REPLIES_WAIT_AT) {
        if (this.ahead !== undefined) return
        this.ahead = call
      }
      this.waiting.delete(call)
      call.goOn()
    }
  }
}

/** The part of the budget that one call uses. */
export class CallMemory {
  /** The bytes that the reply keeps. */
  keptBytes = 0
  private requestBytes = 0
  private hasEnded = false
  private sending: Promise<void> | undefined
  private waiting: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined

  constructor(
    private readonly budget: MemoryBudget,
    private readonly account: string,
  ) {}

  /** Whether the reply waits for room. */
  get isWaiting(): boolean {
    return this.waiting !== undefined
  }

  /** Throws as {@link takeRequest} does, and counts nothing. */
  checkRequest(bytes: number): void {
    if (bytes >= SMALL_REQUEST_BYTES) this.budget.checkRequest(this.account, bytes * COPIES)
  }

  /** Counts a request, or a further part of it. Throws `memory_full` or `rate_limited` if there is no room for it. */
  takeRequest(bytes: number): void {
    if (bytes < SMALL_REQUEST_BYTES) return
    this.budget.takeRequest(this.account, bytes * COPIES)
    this.requestBytes += bytes * COPIES
  }

  /** Releases the request, which is no longer in memory. */
  freeRequest(): void {
    const { requestBytes } = this
    if (requestBytes === 0) return
    this.requestBytes = 0
    this.budget.giveRequest(this.account, requestBytes)
  }

  /** Sets how many bytes the reply keeps now. Returns a promise if it should not grow until there is room. */
  keep(bytes: number): Promise<void> | undefined {
    const more = bytes - this.keptBytes
    if (more === 0 || this.hasEnded) return undefined
    this.keptBytes = bytes
    if (more > 0) return this.budget.grow(this, more)
    this.budget.give(-more)
    return undefined
  }

  /** Keeps the reply counted until this settles, even if the call ends before. */
  sendUntil(sent: void | Promise<void>): void {
    if (sent !== undefined) this.sending = sent
  }

  /** Returns everything to the budget once the reply was sent. */
  end(): void {
    this.freeRequest()
    const { sending } = this
    if (sending === undefined) this.giveBack()
    else void sending.then(() => this.giveBack())
  }

  private giveBack(): void {
    if (this.hasEnded) return
    this.budget.stopWaiting(this)
    this.goOn()
    const { keptBytes } = this
    this.keptBytes = 0
    this.hasEnded = true
    this.budget.give(keptBytes)
  }

  wait(): Promise<void> {
    if (this.waiting === undefined) {
      let resolve = (): void => {}
      const promise = new Promise<void>((settle) => {
        resolve = settle
      })
      this.waiting = { promise, resolve }
    }
    return this.waiting.promise
  }

  /** Ends a wait. */
  goOn(): void {
    const { waiting } = this
    this.waiting = undefined
    waiting?.resolve()
  }
}

/** Returns the error for a call for which there is no room. */
export function memoryFull(): CompatError {
  return new CompatError(
    'memory_full',
    'Running calls use all the memory that this service has for them; try again in a moment.',
    { headers: { 'retry-after': '1' } },
  )
}

function tooManyBytesOfAccount(): CompatError {
  return new CompatError(
    'rate_limited',
    'The running requests of this account are too large together; try again in a moment.',
    { headers: { 'retry-after': '1' } },
  )
}
