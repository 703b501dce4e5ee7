import type { TokenCounter, TokenTally } from '../../contracts/token-counter.js'
import { isCount } from '../../protocol/usage.js'

/** A host's counter, whose counts are amounts of money: one that is no whole number from 0 up is thrown, by its name. */
export function checkedCounter(counter: TokenCounter): TokenCounter {
  return { tally: () => new CheckedTally(counter.tally()) }
}

class CheckedTally implements TokenTally {
  readonly addMedia: TokenTally['addMedia']

  constructor(private readonly tally: TokenTally) {
    if (tally.addMedia !== undefined) this.addMedia = (part) => tally.addMedia!(part)
  }

  add(text: string): void {
    this.tally.add(text)
  }

  atMost(): number {
    return checked('atMost', this.tally.atMost())
  }

  atLeast(): number {
    return checked('atLeast', this.tally.atLeast())
  }
}

function checked(method: 'atMost' | 'atLeast', count: unknown): number {
  if (isCount(count)) return count
  throw new TypeError(
    `The tokenCounter broke its contract: ${method}() must return a whole number from 0 up; got ${String(count)}.`,
  )
}
