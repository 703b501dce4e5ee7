import type { Mutable } from '../base/mutable.js'
import { MEDIA_UNITS, type MediaName, type MediaUnit } from '../base/units.js'

/**
 * The audio and image tokens of a call, each absent if there are none. Those of the input are parts of `prompt`, those
 * of the output parts of `completion`; together they are at most the whole.
 */
export type MediaCounts = { readonly [Name in MediaName]?: number }

/**
 * The tokens of one call. These definitions apply everywhere in this package.
 *
 * `prompt` is all input, cached and cache-written included; `cached <= prompt`; `cacheWrite <= prompt - cached`;
 * `completion` is all output, reasoning included; `reasoning <= completion`.
 */
export interface Usage extends MediaCounts {
  readonly prompt: number
  readonly cached: number
  readonly cacheWrite: number
  readonly completion: number
  readonly reasoning: number
}

/** The parts of `prompt`, and those of `completion`. */
export const INPUT_MEDIA: readonly MediaUnit[] = MEDIA_UNITS.filter(({ side }) => side === 'input')
export const OUTPUT_MEDIA: readonly MediaUnit[] = MEDIA_UNITS.filter(({ side }) => side === 'output')

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

/** Limits each part of a usage to its whole. The counts of audio and images may be given apart. */
export function clampUsage(usage: Usage, media: MediaCounts = usage): Usage {
  const { completion, prompt } = usage
  const cached = Math.min(usage.cached, prompt)
  const clamped: Mutable<Usage> = {
    prompt,
    cached,
    cacheWrite: Math.min(usage.cacheWrite, prompt - cached),
    completion,
    reasoning: Math.min(usage.reasoning, completion),
  }
  addMedia(clamped, media, INPUT_MEDIA, prompt)
  addMedia(clamped, media, OUTPUT_MEDIA, completion)
  return clamped
}

/** Adds the counts above 0, each at most what those before it leave of the whole. */
function addMedia(
  usage: Mutable<Usage>,
  media: MediaCounts,
  units: readonly MediaUnit[],
  whole: number,
): void {
  let left = whole
  for (const { name } of units) {
    const count = Math.min(mediaCount(media, name) ?? 0, left)
    if (count > 0) usage[name] = count
    left -= count
  }
}

/** Returns a count that a usage may lack, even if some dependency has put one on `Object.prototype`. */
export function mediaCount(usage: MediaCounts, name: MediaName): number | undefined {
  return Object.hasOwn(usage, name) ? usage[name] : undefined
}
