import type { TokenCounter, TokenTally } from '../contracts/token-counter.js'
import type { ProviderError } from '../errors.js'
import { eachTextIn, invalidReply, type Losses } from './delta.js'

/** The pieces of a reply that cannot be read: why the first of them cannot, and the text in all of them. */
export class LostPieces implements Losses {
  count = 0
  /** Undefined while there are none. */
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
