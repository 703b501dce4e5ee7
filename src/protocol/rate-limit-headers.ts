/** The state of one limit in its running period. */
export interface LimitFigures {
  readonly limit: bigint
  /** Below 0 if the limit was lowered below the amount used. */
  readonly left: bigint
  /** The time until the period ends. Infinity if it has no end. */
  readonly resetMs: number
}

const SECOND_MS = 1_000
const MINUTE_SECONDS = 60
const HOUR_SECONDS = 60 * MINUTE_SECONDS

/** Returns the `x-ratelimit-*` headers of OpenAI's API for a limit of requests and one of tokens. */
export function rateLimitHeaders(
  requests: LimitFigures | undefined,
  tokens: LimitFigures | undefined,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  if (requests !== undefined) addFigures(headers, 'requests', requests)
  if (tokens !== undefined) addFigures(headers, 'tokens', tokens)
  return headers
}

/** Returns the limit that has less left. If both are equal, returns the one that ends later. */
export function tighter(one: LimitFigures | undefined, other: LimitFigures): LimitFigures {
  if (one === undefined || other.left < one.left) return other
  return other.left === one.left && other.resetMs > one.resetMs ? other : one
}

function addFigures(
  headers: Record<string, string>,
  unit: string,
  { left, limit, resetMs }: LimitFigures,
): void {
  headers[`x-ratelimit-limit-${unit}`] = String(limit)
  headers[`x-ratelimit-remaining-${unit}`] = String(left < 0n ? 0n : left)
  if (resetMs !== Infinity) headers[`x-ratelimit-reset-${unit}`] = resetText(resetMs)
}

/** As OpenAI writes it: `250ms`, `1s`, `6m0s`, `23h59m2s`. */
function resetText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.max(0, Math.ceil(ms))}ms`
  const seconds = Math.ceil(ms / SECOND_MS)
  const hours = Math.floor(seconds / HOUR_SECONDS)
  const minutes = Math.floor((seconds % HOUR_SECONDS) / MINUTE_SECONDS)
  const rest = `${seconds % MINUTE_SECONDS}s`
  if (hours > 0) return `${hours}h${minutes}m${rest}`
  return minutes > 0 ? `${minutes}m${rest}` : rest
}
