import { type Credits, creditsToNumber } from '../base/money.js'
import { mediaCount, type Usage } from './usage.js'

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
      audio_tokens: mediaCount(usage, 'audioInput'),
      image_tokens: mediaCount(usage, 'imageInput'),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: mediaCount(usage, 'audioOutput'),
      image_tokens: mediaCount(usage, 'imageOutput'),
    },
    cost: creditsToNumber(cost),
    is_byok: byok,
    charge: { basis, base_cost: creditsToNumber(base), markup_cost: creditsToNumber(markup) },
  }
}

/** Returns the `usage` object as JSON. Written by hand for speed, because every reply has it. */
export function writeUsage({ base, basis, byok, cost, markup, usage }: WireCharge): string {
  const { cached, completion, prompt, reasoning } = usage
  const tokens = `"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion}`
  const inputs = `{"cached_tokens":${cached}${writeMedia(mediaCount(usage, 'audioInput'), mediaCount(usage, 'imageInput'))}}`
  const outputs = `{"reasoning_tokens":${reasoning}${writeMedia(mediaCount(usage, 'audioOutput'), mediaCount(usage, 'imageOutput'))}}`
  const details = `"prompt_tokens_details":${inputs},"completion_tokens_details":${outputs}`
  const parts = `"basis":"${basis}","base_cost":${creditsToNumber(base)},"markup_cost":${creditsToNumber(markup)}`
  return `{${tokens},${details},"cost":${creditsToNumber(cost)},"is_byok":${byok},"charge":{${parts}}}`
}

function writeMedia(audio: number | undefined, image: number | undefined): string {
  const audioMember = audio === undefined ? '' : `,"audio_tokens":${audio}`
  return image === undefined ? audioMember : `${audioMember},"image_tokens":${image}`
}
