/** The median of values, and the ends of its interval. */
export interface Interval {
  readonly median: number
  readonly low: number
  readonly high: number
}

const TAIL = 0.025

/**
 * Returns the median and its bootstrapped 95 % interval. The median of a resample is one of the values, so the
 * distribution of all resamples is binomial and is computed instead of drawn: with the same values it is always the same.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b)
  const { length } = sorted
  if (length === 0) return { median: Number.NaN, low: Number.NaN, high: Number.NaN }
  const half = Math.ceil(length / 2)
  let rank = 1
  // The chance that the median of a resample is at most the value of this rank.
  while (rank < half && atLeast(half, length, rank / length) < TAIL) rank++
  return {
    median: (sorted[half - 1]! + sorted[length - half]!) / 2,
    low: sorted[rank - 1]!,
    high: sorted[length - rank]!,
  }
}

/** The chance of at least `least` hits in `tries` with this chance each. */
function atLeast(least: number, tries: number, chance: number): number {
  let sum = 0
  let ways = 1
  for (let hits = 0; hits <= tries; hits++) {
    if (hits >= least) sum += ways * chance ** hits * (1 - chance) ** (tries - hits)
    ways = (ways * (tries - hits)) / (hits + 1)
  }
  return sum
}
