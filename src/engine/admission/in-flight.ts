import type { Principal } from '../../contracts/credentials.js'
import type { Limits } from '../../contracts/limits.js'
import { CompatError } from '../../errors.js'

/** A call that can be told to stop. */
export interface LiveCall {
  /** Where it stands among the calls under way; -1 where it does not. */
  place: number
  shutDown(): void
}

/** The calls under way: how many of each account and credential, and all of them for a shutdown. */
export class InFlight {
  // Not a `Set`: one that is filled and emptied all the time leaves a chain of tables behind, which keeps ended calls alive.
  private readonly calls: LiveCall[] = []
  private readonly perAccount = new Map<string, number>()
  private readonly perCredential = new Map<string, number>()
  private readonly waiting: (() => void)[] = []
  private entered = 0
  private closed = false
  private stopping = false

  constructor(private readonly limits: Limits) {}

  get count(): number {
    return this.entered
  }

  /** Counts a call in. Returns what counts it out, or refuses it with `rate_limited` or `shutting_down`. */
  enter(principal: Principal): () => void {
    if (this.closed) throw shuttingDown()
    const { inFlightPerAccount, inFlightPerCredential } = this.limits
    const { account, credentialId } = principal
    if (this.perAccount.get(account)! >= inFlightPerAccount!) throw tooMany('account', inFlightPerAccount)
    if (this.perCredential.get(credentialId)! >= inFlightPerCredential!) {
      throw tooMany('credential', inFlightPerCredential)
    }
    this.entered++
    if (inFlightPerAccount !== undefined) add(this.perAccount, account, 1)
    if (inFlightPerCredential !== undefined) add(this.perCredential, credentialId, 1)
    return () => {
      if (inFlightPerAccount !== undefined) add(this.perAccount, account, -1)
      if (inFlightPerCredential !== undefined) add(this.perCredential, credentialId, -1)
      this.entered--
      if (this.entered === 0) for (const resume of this.waiting.splice(0)) resume()
    }
  }

  /** Waits for something that a shutdown need not wait for. */
  interruptible<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const call: LiveCall = { place: -1, shutDown: () => reject(shuttingDown()) }
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

  /** Also for a call that comes after {@link shutDownAll}, which is told to stop at once. */
  add(call: LiveCall): void {
    call.place = this.calls.push(call) - 1
    if (this.stopping) call.shutDown()
  }

  remove(call: LiveCall): void {
    if (call.place < 0) return
    const last = this.calls.pop()!
    if (last !== call) {
      this.calls[call.place] = last
      last.place = call.place
    }
    call.place = -1
  }

  /** Lets no further call in, not even one whose credential was being looked up by then. */
  close(): void {
    this.closed = true
  }

  shutDownAll(): void {
    this.stopping = true
    for (const call of [...this.calls]) call.shutDown()
  }

  /** Settled when no call is under way. */
  empty(): Promise<void> {
    return this.entered === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve))
  }
}

export function shuttingDown(headers: Readonly<Record<string, string>> = {}): CompatError {
  return new CompatError('shutting_down', 'This service is shutting down. Try again shortly.', { headers })
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

function tooMany(what: string, limit: number | undefined): CompatError {
  return new CompatError(
    'rate_limited',
    `This ${what} has ${limit} calls under way, which is as many as it may have at once.`,
    {
      headers: { 'retry-after': '1' },
    },
  )
}
