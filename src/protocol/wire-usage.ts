import { type Credits, creditsToNumber } from '../money.js'
import type { JsonObject } from './json-values.js'
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

/** The `usage` object of a reply, as JSON: tokens, and the credits debited for it as exact decimals. */
export function writeUsage({ base, basis, byok, cost, markup, usage }: WireCharge): string {
  const { cached, completion, prompt, reasoning } = usage
  const tokens = `"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion}`
  const details = `"prompt_tokens_details":{"cached_tokens":${cached}},"completion_tokens_details":{"reasoning_tokens":${reasoning}}`
  const parts = `"basis":"${basis}","base_cost":${creditsToNumber(base)},"markup_cost":${creditsToNumber(markup)}`
  return `{${tokens},${details},"cost":${creditsToNumber(cost)},"is_byok":${byok},"charge":{${parts}}}`
}

/** The same as an object, for an error that tells of a charge. */
export function wireUsage(charge: WireCharge): JsonObject {
  return JSON.parse(writeUsage(charge))
}
