import type { Mutable } from '../base/mutable.js'

/**
 * The tokens of one call. These definitions apply everywhere in this package.
 *
 * `prompt` is all input, cached and cache-written included; `cached <= prompt`; `cacheWrite <= prompt - cached`;
 * `completion` is all output, reasoning included; `reasoning <= completion`.
 */
export interface Usage {
  readonly prompt: number
  readonly cached: number
  readonly cacheWrite: number
  readonly completion: number
  readonly reasoning: number
  /** The audio tokens of `prompt`. Absent if there are none, as the three below. */
  readonly audioInput?: number
  /** The audio tokens of `completion`. */
  readonly audioOutput?: number
  /** The image tokens of `prompt`, at most `prompt - audioInput`. */
  readonly imageInput?: number
  /** The image tokens of `completion`, at most `completion - audioOutput`. */
  readonly imageOutput?: number
}

/** The counts that a usage has only if they are above 0. */
export const MEDIA_COUNTS = ['audioInput', 'audioOutput', 'imageInput', 'imageOutput'] as const

export const NO_USAGE: Usage = Object.freeze({
  prompt: 0,
  cached: 0,
  cacheWrite: 0,
  completion: 0,
  reasoning: 0,
})

/**
 * The token counts that a provider reported. Its adapter has converted them to the definitions of {@link Usage} but not
 * checked them: an invalid count (negative, a fraction, a string) is unchanged, an absent one is `undefined`.
 */
export type UsageReport = { readonly [Count in keyof Usage]?: unknown } & {
  /** Prompt and completion together, if the provider reports it. If one of the two is missing, it is computed from this. */
  readonly total?: unknown
  /** Counts of cached tokens under names that the adapter does not know. They are reported to the host. */
  readonly unread?: Readonly<Record<string, number>>
}

const MAX_COUNT = 1_000_000_000

/** Whether a value is a token count: an integer from 0 to 10^9. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT
}

/** Limits each part of a usage to its whole. */
export function clampUsage(usage: Usage): Usage {
  const { completion, prompt } = usage
  const cached = Math.min(usage.cached, prompt)
  const clamped: Mutable<Usage> = {
    prompt,
    cached,
    cacheWrite: Math.min(usage.cacheWrite, prompt - cached),
    completion,
    reasoning: Math.min(usage.reasoning, completion),
  }
  const audioInput = mediaCount(usage, 'audioInput') ?? 0
  const audioOutput = mediaCount(usage, 'audioOutput') ?? 0
  const imageInput = mediaCount(usage, 'imageInput') ?? 0
  const imageOutput = mediaCount(usage, 'imageOutput') ?? 0
  if (audioInput + audioOutput + imageInput + imageOutput > 0) {
    addMediaCounts(clamped, {
      audioInput: Math.min(audioInput, prompt),
      audioOutput: Math.min(audioOutput, completion),
      imageInput: Math.min(imageInput, Math.max(0, prompt - audioInput)),
      imageOutput: Math.min(imageOutput, Math.max(0, completion - audioOutput)),
    })
  }
  return clamped
}

/** Returns a count that a usage may lack, even if some dependency has put one on `Object.prototype`. */
export function mediaCount(usage: Usage, name: (typeof MEDIA_COUNTS)[number]): number | undefined {
  return Object.hasOwn(usage, name) ? usage[name] : undefined
}

/** Adds the counts above 0 to a usage. */
export function addMediaCounts(
  usage: Mutable<Usage>,
  counts: Readonly<Record<(typeof MEDIA_COUNTS)[number], number>>,
): void {
  for (const name of MEDIA_COUNTS) if (counts[name] > 0) usage[name] = counts[name]
}
