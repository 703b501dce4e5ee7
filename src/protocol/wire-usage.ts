import { type Credits, creditsToNumber } from '../base/money.js'
import type { Usage } from './usage.js'

/** The fields of a charge that are sent to clients. */
export interface WireCharge {
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
  readonly basis: 'reported' | 'estimated'
  readonly byok: boolean
  readonly usage: Usage
}

/** Returns the `usage` object of a reply: its tokens, and the credits debited for it as exact decimals. */
export function wireUsage({ base, basis, byok, cost, markup, usage }: WireCharge) {
  const { cached, completion, prompt, reasoning } = usage
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
    cost: creditsToNumber(cost),
    is_byok: byok,
    charge: { basis, base_cost: creditsToNumber(base), markup_cost: creditsToNumber(markup) },
  }
}

/** Returns the `usage` object as JSON. Written by hand for speed, because every reply has it. */
export function writeUsage({ base, basis, byok, cost, markup, usage }: WireCharge): string {
  const { cached, completion, prompt, reasoning } = usage
  const tokens = `"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion}`
  const details = `"prompt_tokens_details":{"cached_tokens":${cached}},"completion_tokens_details":{"reasoning_tokens":${reasoning}}`
  const parts = `"basis":"${basis}","base_cost":${creditsToNumber(base)},"markup_cost":${creditsToNumber(markup)}`
  return `{${tokens},${details},"cost":${creditsToNumber(cost)},"is_byok":${byok},"charge":{${parts}}}`
}
