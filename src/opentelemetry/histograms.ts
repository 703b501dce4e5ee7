import type { Attributes, Meter } from '@opentelemetry/api'

/** The values of one set of attributes. */
export interface Series {
  record(value: number): void
}

/** As much of an instrument as is used. */
export interface Histogram {
  /** Is asked once for each set of attributes. What no value is recorded in is not reported. */
  series(attributes: Attributes): Series
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
  return ({ name, unit, description, boundaries }) => {
    const histogram = meter.createHistogram(name, {
      unit,
      description,
      advice: { explicitBucketBoundaries: boundaries },
    })
    return { series: (attributes) => ({ record: (value) => histogram.record(value, attributes) }) }
  }
}
