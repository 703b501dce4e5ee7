import { hash } from 'node:crypto'
import { CompatError } from '../../base/errors.js'
import type { Awaitable } from '../../contracts/context.js'
import type { CredentialResult } from '../../contracts/credentials.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { askStore } from '../asking/stores.js'
import { isPromise } from '../asking/within.js'

const KNOWN_TOKENS = 10_000

/**
 * Bounds the credential look-ups that wait for a store, so that a flood of unknown tokens does not queue up. Tokens
 * that the store has recognised before have as many slots of their own, so strangers never keep out paying callers.
 */
export class LookUps {
  private waiting = 0
  /** Digests, with the least recently looked up first. */
  private readonly known = new Set<string>()

  constructor(private readonly options: EngineOptions) {}

  /** Looks up a token, or throws `overloaded`. A synchronous answer takes no slot. */
  find(token: string, context: LazyContext): Awaitable<CredentialResult> {
    if (context.hasEnded) throw clientLeft()
    const { credentials, concurrency } = this.options
    if (this.waiting >= concurrency.lookUps && !this.hasReserve(token)) throw overloaded()
    const answer = askStore('credentials', this.options, context, () => credentials.resolve(token, context))
    return isPromise(answer) ? this.count(token, answer) : answer
  }

  private hasReserve(token: string): boolean {
    return this.waiting < this.options.concurrency.lookUps * 2 && this.known.has(digestOf(token))
  }

  private async count(token: string, answer: Promise<CredentialResult>): Promise<CredentialResult> {
    this.waiting++
    try {
      const result = await answer
      this.note(digestOf(token), result?.ok === true)
      return result
    } finally {
      this.waiting--
    }
  }

  private note(digest: string, isGood: boolean): void {
    const known = this.known
    known.delete(digest)
    if (!isGood) return
    known.add(digest)
    if (known.size > KNOWN_TOKENS) known.delete(known.values().next().value!)
  }
}

function digestOf(token: string): string {
  return hash('sha256', token)
}

function clientLeft(): CompatError {
  return new CompatError('invalid_request', 'The client left before its credential was looked up.')
}

function overloaded(): CompatError {
  return new CompatError('overloaded', 'Too many credentials are being looked up. Try again in a moment.', {
    headers: { 'retry-after': '1' },
  })
}
