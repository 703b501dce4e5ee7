import type { TokenCounter } from '../contracts/token-counter.js'
import { ChoiceStream } from './choice-stream.js'
import type { Losses } from './losses.js'

export interface ChoiceListOptions {
  readonly counter: TokenCounter
  readonly newToolCallId: () => string
  readonly losses: Losses
}

/** The choices of one reply, in the order in which they began. */
export class ChoiceList {
  readonly all: ChoiceStream[] = []

  constructor(private readonly options: ChoiceListOptions) {}

  /** Returns the choice with this index, and begins it if it is new. */
  at(index: number): ChoiceStream {
    for (const choice of this.all) if (choice.index === index) return choice
    const { counter, losses, newToolCallId } = this.options
    const choice = new ChoiceStream(index, counter.tally(), newToolCallId, losses)
    this.all.push(choice)
    return choice
  }

  /** Whether at least one choice has begun, and each has ended. */
  get haveFinished(): boolean {
    for (const choice of this.all) if (!choice.hasFinished) return false
    return this.all.length > 0
  }

  /** The provider's own word for the end of the first choice, if all ended with unknown ones. */
  get unknownReason(): string | undefined {
    const reasons = this.all.map(({ unknownReason }) => unknownReason)
    return reasons.includes(undefined) ? undefined : reasons[0]
  }

  /** Returns the output tokens of the received text, at most the model's maximum for each choice. */
  tokensAtLeast(maxPerChoice: number): number {
    let tokens = 0
    for (const { tally } of this.all) tokens += Math.min(tally.atLeast(), maxPerChoice)
    return tokens
  }
}
