const TICKS = 4

/** Round numbers from 0 to at least the largest value. */
export function ticksOf(most: number, isWhole: boolean): readonly number[] {
  const rough = Math.max((most > 0 ? most : 1) / TICKS, isWhole ? 1 : 0)
  const power = 10 ** Math.floor(Math.log10(rough))
  const size = [1, 2, 2.5, 5, 10].find((step) => step * power >= rough)! * power
  const count = Math.max(1, Math.ceil((most > 0 ? most : 1) / size - 1e-9))
  return Array.from({ length: count + 1 }, (_, tick) => tick * size)
}

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 })

/** Fits into the width of the axis. */
export function shortDecimal(value: number): string {
  if (value >= 10_000) return COMPACT.format(value)
  return value === 0 ? '0' : String(Number(value.toPrecision(6)))
}
