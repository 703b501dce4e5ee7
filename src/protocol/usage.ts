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
}

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
  const cached = Math.min(usage.cached, usage.prompt)
  return {
    prompt: usage.prompt,
    cached,
    cacheWrite: Math.min(usage.cacheWrite, usage.prompt - cached),
    completion: usage.completion,
    reasoning: Math.min(usage.reasoning, usage.completion),
  }
}
