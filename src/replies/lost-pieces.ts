import type { ProviderError } from '../base/errors.js'
import type { Reply } from '../contracts/operation.js'
import type { TokenCounter, TokenTally } from '../contracts/token-counter.js'
import { isText } from '../protocol/json-values.js'
import { invalidReply } from './invalid-reply.js'
import type { Losses } from './losses.js'
import { MendBook } from './mends.js'

/**
 * The unreadable pieces of a reply: the error for the first one, and the tokens of the text in all of them. Also counts
 * the odd elements that were repaired.
 */
export class LostPieces implements Losses {
  count = 0
  /** Undefined if there is no such piece. */
  why: ProviderError | undefined
  private tally: TokenTally | undefined
  private book: MendBook | undefined

  constructor(private readonly counter: TokenCounter) {}

  add(what: string, piece: unknown): void {
    this.count++
    this.why ??= invalidReply(what)
    this.tally ??= this.counter.tally()
    const { tally } = this
    eachTextIn(piece, (text) => tally.add(text))
  }

  mend(kind: string, dropped?: string): void {
    this.book ??= new MendBook()
    this.book.add(kind, dropped)
  }

  /** How many odd elements were repaired. */
  get mendCount(): number {
    return this.book?.count ?? 0
  }

  /** Undefined if there were none. */
  get mends(): Reply['mends'] {
    return this.book?.kinds
  }

  /** Counts an omitted member, once for each name. */
  drop(name: string): void {
    if (this.book?.hasDropped('member-dropped', name) !== true) this.mend('member-dropped', name)
  }

  tokensAtLeast(): number {
    return this.tally?.atLeast() ?? 0
  }
}

/** Calls `add` with each piece of text in a value of any shape, except the names of fields. */
export function eachTextIn(value: unknown, add: (text: string) => void): void {
  const rest: unknown[] = [value]
  // An adapter of the host's own may hand on an object that contains itself.
  const seen = new Set<object>()
  while (rest.length > 0) {
    const one = rest.pop()
    if (typeof one === 'object' && one !== null) {
      if (seen.has(one)) continue
      seen.add(one)
      for (const member of Object.values(one)) rest.push(member)
    } else if (isText(one)) add(one)
    else if (typeof one === 'number') add(String(one))
  }
}
