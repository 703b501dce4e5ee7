import { CompatError } from '../../base/errors.js'
import { type Listed, UnorderedList } from '../../base/unordered-list.js'
import type { Awaitable } from '../../contracts/context.js'
import type { Principal } from '../../contracts/credentials.js'
import type { Concurrency } from '../../contracts/limits.js'
import { isPromise } from '../asking/within.js'
import { shuttingDown } from '../failures/broken-off.js'

/** A call that can be aborted. */
export interface LiveCall extends Listed {
  shutDown(): void
  /** Takes its hold again if the hold was lost. Must not reject. */
  renewHold?(): Promise<void>
}

/** The running calls: their number for each account and credential, and all of them for a shutdown. */
export class InFlight {
  private readonly calls = new UnorderedList<LiveCall>()
  private readonly accounts: Occupancy
  private readonly credentials: Occupancy
  /** The number of running calls. */
  count = 0
  private readonly waiting: (() => void)[] = []
  private closed = false
  private stopping = false
  private readonly limit: number

  constructor({ inFlight, inFlightPerAccount, inFlightPerCredential }: Concurrency) {
    this.limit = inFlight
    this.accounts = new Occupancy('account', inFlightPerAccount)
    this.credentials = new Occupancy('credential', inFlightPerCredential)
  }

  /**
   * Counts a call in. Returns a function that counts it out. Throws `rate_limited`, `overloaded` or `shutting_down`.
   */
  enter(principal: Principal): () => void {
    if (this.count >= this.limit) {
      throw new CompatError(
        'overloaded',
        'This service is running as many calls as it can. Try again shortly.',
      )
    }
    const leave = this.visit(principal)
    this.count++
    return () => {
      leave()
      this.count--
      if (this.count === 0 && this.waiting.length > 0) for (const resume of this.waiting.splice(0)) resume()
    }
  }

  /**
   * Works like {@link enter}, but for a request that a shutdown does not wait for and {@link count} omits, such as a
   * look at the catalogue.
   */
  visit({ account, credentialId }: Principal): () => void {
    if (this.closed) throw shuttingDown()
    this.accounts.checkRoomFor(account)
    this.credentials.checkRoomFor(credentialId)
    this.accounts.change(account, 1)
    this.credentials.change(credentialId, 1)
    return () => {
      this.accounts.change(account, -1)
      this.credentials.change(credentialId, -1)
    }
  }

  /** Returns the result of work that a shutdown may interrupt. Rejects with `shutting_down` if it does. */
  interruptible<T>(work: Awaitable<T>): Awaitable<T> {
    if (!isPromise(work)) return work
    return new Promise((resolve, reject) => {
      const call: LiveCall = { slot: -1, shutDown: () => reject(shuttingDown()) }
      this.add(call)
      work.then(
        (value) => {
          this.remove(call)
          resolve(value)
        },
        (error) => {
          this.remove(call)
          reject(error)
        },
      )
    })
  }

  /** Registers a call. After {@link shutDownAll}, stops it at once. */
  add(call: LiveCall): void {
    this.calls.add(call)
    if (this.stopping) call.shutDown()
  }

  remove(call: LiveCall): void {
    this.calls.remove(call)
  }

  /** Admits no further calls, including those whose credential is still being looked up. */
  close(): void {
    this.closed = true
  }

  shutDownAll(): void {
    this.stopping = true
    for (const call of [...this.calls.items]) call.shutDown()
  }

  /** Settles when each call whose hold was lost has taken it again. */
  async renewHolds(): Promise<void> {
    await Promise.all(this.calls.items.map((call) => call.renewHold?.()))
  }

  /** Settles when no call is running. */
  empty(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve))
  }
}

/** The number of running calls for each account or credential. Counts only if there is a limit. */
class Occupancy {
  private readonly counts = new Map<string, number>()

  constructor(
    private readonly what: string,
    private readonly limit: number | undefined,
  ) {}

  checkRoomFor(key: string): void {
    if (this.limit === undefined || (this.counts.get(key) ?? 0) < this.limit) return
    throw new CompatError(
      'rate_limited',
      `This ${this.what} is running as many calls at once as it may: ${this.limit}.`,
      { headers: { 'retry-after': '1' } },
    )
  }

  change(key: string, by: 1 | -1): void {
    if (this.limit === undefined) return
    const count = (this.counts.get(key) ?? 0) + by
    if (count === 0) this.counts.delete(key)
    else this.counts.set(key, count)
  }
}
