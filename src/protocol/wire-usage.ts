import { type Credits, creditsToNumber } from '../money.js'
import type { Usage } from './usage.js'

/** What of a charge stands on the wire. */
export interface WireCharge {
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
  readonly basis: 'reported' | 'estimated'
  readonly byok: boolean
  readonly usage: Usage
}

/** The `usage` object of a reply: tokens, and the credits debited for it as exact decimals. */
export function wireUsage(charge: WireCharge) {
  const { usage } = charge
  return {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.prompt + usage.completion,
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    cost: creditsToNumber(charge.cost),
    is_byok: charge.byok,
    charge: {
      basis: charge.basis,
      base_cost: creditsToNumber(charge.base),
      markup_cost: creditsToNumber(charge.markup),
    },
  }
}
