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

  /** The choice of this index, which begins now if it had not. */
  at(index: number): ChoiceStream {
    for (const choice of this.all) if (choice.index === index) return choice
    const { counter, losses, newToolCallId } = this.options
    const choice = new ChoiceStream(index, counter.tally(), newToolCallId, losses)
    this.all.push(choice)
    return choice
  }

  /** Whether any has begun, and each has its finish reason. */
  get haveFinished(): boolean {
    for (const choice of this.all) if (choice.finishReason === undefined) return false
    return this.all.length > 0
  }

  /** Output tokens of the text that came, each choice at most the model's maximum. */
  tokensAtLeast(maxPerChoice: number): number {
    let tokens = 0
    for (const { tally } of this.all) tokens += Math.min(tally.atLeast(), maxPerChoice)
    return tokens
  }
}
