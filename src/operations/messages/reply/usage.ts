import { creditsToNumber } from '../../../base/money.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'

/** Returns the `usage` of this API. Input read from or written to the cache is counted separately. */
export function wireUsage({ base, basis, byok, cost, markup, usage }: WireCharge) {
  const { cached, cacheWrite, completion, prompt, reasoning } = usage
  return {
    input_tokens: prompt - cached - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    output_tokens: completion,
    output_tokens_details: { thinking_tokens: reasoning },
    cost: creditsToNumber(cost),
    is_byok: byok,
    charge: { basis, base_cost: creditsToNumber(base), markup_cost: creditsToNumber(markup) },
  }
}
