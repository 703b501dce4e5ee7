import { type Interval, medianInterval } from './interval.js'

/** The figure of a row, one value for each block of slices. */
export interface Figure {
  readonly interval: Interval
  /** The width of the interval as a share of what it is measured on. */
  readonly width: number
}

/** `unclear` if time was over before the interval was narrow. */
export type Verdict = 'within' | 'past' | 'unclear'

export const NARROW = 0.06
/** With fewer, an interval says little, and not each process has met each of the other build. */
const LEAST_BLOCKS = 9
/** Two processes of one build differ by about this share for as long as they run, which no interval shows. */
const BETWEEN_PROCESSES = 0.01

/** @param scales the values of which the figures are a part, if the figures are differences */
export function readFigure(values: readonly number[], scales?: readonly number[]): Figure {
  const interval = medianInterval(values)
  const scale = scales === undefined ? interval.median : medianInterval(scales).median
  return { interval, width: (interval.high - interval.low) / scale }
}

/** Whether a measurement may end before its time is over. */
export function isNarrow({ width }: Figure, blocks: number): boolean {
  return blocks >= LEAST_BLOCKS && width < NARROW
}

export function judgeFigure(figure: Figure, blocks: number, budget: number): Verdict {
  if (blocks >= LEAST_BLOCKS && figure.interval.low > budget * (1 + BETWEEN_PROCESSES)) return 'past'
  return isNarrow(figure, blocks) ? 'within' : 'unclear'
}

/** Measures, and measures again with new processes if that was past the budget. Only the second time counts as a failure. */
export async function judgeTwice<Result extends { readonly verdict: Verdict }>(
  measure: () => Promise<Result>,
): Promise<Result> {
  const first = await measure()
  return first.verdict === 'past' ? measure() : first
}
