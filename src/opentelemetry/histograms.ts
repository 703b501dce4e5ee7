import type { Attributes, Meter } from '@opentelemetry/api'

/** As much of an instrument as is used. */
export interface Histogram {
  /** The same series is always given by the same object. */
  record(value: number, attributes: Attributes): void
}

export interface HistogramSettings {
  readonly name: string
  readonly unit: string
  readonly description: string
  /** The upper bounds of its buckets, each within its bucket. */
  readonly boundaries: number[]
}

export type CreateHistogram = (settings: HistogramSettings) => Histogram

/** Histograms that the SDK behind a meter keeps: it sorts and serialises the attributes of each record. */
export function histogramsOf(meter: Meter): CreateHistogram {
  return ({ name, unit, description, boundaries }) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundaries } })
}
