import type { ProviderError } from '../base/errors.js'
import type { TokenCounter, TokenTally } from '../contracts/token-counter.js'
import { eachTextIn, invalidReply, type Losses } from './delta.js'

/** The unreadable pieces of a reply: the error for the first one, and the tokens of the text in all of them. */
export class LostPieces implements Losses {
  count = 0
  /** Undefined if there is no such piece. */
  why: ProviderError | undefined
  private tally: TokenTally | undefined

  constructor(private readonly counter: TokenCounter) {}

  add(what: string, piece: unknown): void {
    this.count++
    this.why ??= invalidReply(what)
    this.tally ??= this.counter.tally()
    const { tally } = this
    eachTextIn(piece, (text) => tally.add(text))
  }

  tokensAtLeast(): number {
    return this.tally?.atLeast() ?? 0
  }
}
