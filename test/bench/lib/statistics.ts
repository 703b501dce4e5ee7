/** The value below which a share of all values lies. NaN if there are none. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}

export function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b)
  if (sorted.length === 0) return Number.NaN
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spreadOf(values: readonly number[]): Spread {
  const known = values.filter((value) => !Number.isNaN(value))
  return { median: median(known), min: Math.min(...known), max: Math.max(...known) }
}

/** Round by round, so that anything that slows a whole round cancels out. */
export function ratios(values: readonly number[], references: readonly number[]): number[] {
  return values.map((value, round) => value / references[round]!)
}
