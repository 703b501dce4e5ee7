import { type Credits, creditsToNumber } from '../base/money.js'
import type { MediaUnit } from '../base/units.js'
import { INPUT_MEDIA, mediaCount, OUTPUT_MEDIA, type Usage } from './usage.js'
import { NO_BYTES, type WireBytes, wire } from './wire-bytes.js'

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
    prompt_tokens_details: {
      cached_tokens: cached,
      ...mediaTokens(usage, INPUT_MEDIA),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      ...mediaTokens(usage, OUTPUT_MEDIA),
    },
    cost: creditsToNumber(cost),
    is_byok: byok,
    charge: { basis, base_cost: creditsToNumber(base), markup_cost: creditsToNumber(markup) },
  }
}

function mediaTokens(
  usage: Usage,
  units: readonly MediaUnit[],
): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(units.map(({ name, wire }) => [wire, mediaCount(usage, name)]))
}

/** Returns the `usage` object as JSON. Written by hand for speed, because every reply has it. */
export function writeUsage({ base, basis, byok, cost, markup, usage }: WireCharge): WireBytes {
  const { cached, completion, prompt, reasoning } = usage
  const tokens = wire(
    `"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion}`,
  )
  const inputs = wire(`{"cached_tokens":${cached}${writeMedia(usage, INPUT_MEDIA)}}`)
  const outputs = wire(`{"reasoning_tokens":${reasoning}${writeMedia(usage, OUTPUT_MEDIA)}}`)
  const details = wire(`"prompt_tokens_details":${inputs},"completion_tokens_details":${outputs}`)
  const parts = wire(
    `"basis":"${basis}","base_cost":${creditsToNumber(base)},"markup_cost":${creditsToNumber(markup)}`,
  )
  return wire(`{${tokens},${details},"cost":${creditsToNumber(cost)},"is_byok":${byok},"charge":{${parts}}}`)
}

function writeMedia(usage: Usage, units: readonly MediaUnit[]): WireBytes {
  let members = NO_BYTES
  for (const { name, wire: member } of units) {
    const count = mediaCount(usage, name)
    if (count !== undefined) members = wire(`${members},"${member}":${count}`)
  }
  return members
}
