import type { Attributes, HrTime } from '@opentelemetry/api'
import { version } from '../version.js'
import type { CreateHistogram, Histogram, HistogramSettings, Series } from './histograms.js'
import { SCOPE } from './names.js'
import { FURTHER, MAX_ROWS } from './totals.js'

/**
 * What an SDK's metric reader takes as one of its `metricProducers`: structurally the `MetricProducer` of
 * `@opentelemetry/sdk-metrics`.
 */
export interface MetricProducer {
  collect(): Promise<{
    readonly resourceMetrics: { readonly resource: never; readonly scopeMetrics: ScopeMetrics[] }
    readonly errors: unknown[]
  }>
}

interface ScopeMetrics {
  scope: { name: string; version: string }
  metrics: HistogramData[]
}

interface HistogramData {
  readonly descriptor: {
    readonly name: string
    readonly unit: string
    readonly description: string
    readonly valueType: typeof DOUBLE
  }
  readonly aggregationTemporality: typeof CUMULATIVE
  readonly dataPointType: typeof HISTOGRAM
  readonly dataPoints: {
    readonly startTime: HrTime
    readonly endTime: HrTime
    readonly attributes: Attributes
    readonly value: {
      buckets: { boundaries: number[]; counts: number[] }
      sum: number
      count: number
      min: number
      max: number
    }
  }[]
}

/** Of the SDK's enumerations, which this package does not import. */
const DOUBLE = 1
const CUMULATIVE = 1
const HISTOGRAM = 0
/** Readers have a resource of their own and ask no producer for one. */
const NO_RESOURCE = undefined as never

/** Keeps the histograms of one `createTelemetry`, and hands them to the metric readers that have it as a producer. */
export interface Histograms extends MetricProducer {
  /** For `createTelemetry`. Throws a `TypeError` where there is one of this name. */
  readonly create: CreateHistogram
}

/**
 * Histograms that are kept here instead of by an SDK, which would spend a microsecond or more on each of three to five
 * values of a call. To be given to the SDK's metric reader as one of its `metricProducers`, and to `createTelemetry`.
 *
 * They are cumulative whatever the reader prefers, and no view of the SDK touches them. One that has no value yet is not
 * reported.
 */
export function createHistograms(): Histograms {
  const histograms = new Map<string, OwnHistogram>()
  return {
    create(settings) {
      if (histograms.has(settings.name)) {
        throw new TypeError(
          'createTelemetry: histograms are those of another createTelemetry; make one for a process.',
        )
      }
      const histogram = new OwnHistogram(settings, hrTime(Date.now()))
      histograms.set(settings.name, histogram)
      return histogram
    },
    async collect() {
      const endTime = hrTime(Date.now())
      const metrics = [...histograms.values()].flatMap((histogram) => histogram.read(endTime) ?? [])
      const scopeMetrics = metrics.length === 0 ? [] : [{ scope: { name: SCOPE, version }, metrics }]
      return { resourceMetrics: { resource: NO_RESOURCE, scopeMetrics }, errors: [] }
    },
  }
}

class OwnHistogram implements Histogram {
  private readonly all: OwnSeries[] = []
  private further: OwnSeries | undefined

  constructor(
    private readonly settings: HistogramSettings,
    private readonly startTime: HrTime,
  ) {}

  /** All that come after as many as the SDK tells apart are one. */
  series(attributes: Attributes): Series {
    if (this.all.length < MAX_ROWS) return this.add(attributes)
    this.further ??= this.add(FURTHER)
    return this.further
  }

  /** Undefined where nothing was recorded. */
  read(endTime: HrTime): HistogramData | undefined {
    const recorded = this.all.filter(({ count }) => count > 0)
    if (recorded.length === 0) return undefined
    const { boundaries, description, name, unit } = this.settings
    const { startTime } = this
    return {
      descriptor: { name, unit, description, valueType: DOUBLE },
      aggregationTemporality: CUMULATIVE,
      dataPointType: HISTOGRAM,
      dataPoints: recorded.map(({ attributes, counts, sum, count, min, max }) => ({
        startTime,
        endTime,
        attributes,
        value: { sum, count, min, max, buckets: { boundaries: [...boundaries], counts: [...counts] } },
      })),
    }
  }

  private add(attributes: Attributes): OwnSeries {
    const series = new OwnSeries(attributes, this.settings.boundaries)
    this.all.push(series)
    return series
  }
}

class OwnSeries implements Series {
  readonly counts: number[]
  sum = 0
  count = 0
  min = Infinity
  max = -Infinity

  constructor(
    readonly attributes: Attributes,
    private readonly boundaries: readonly number[],
  ) {
    this.counts = new Array<number>(boundaries.length + 1).fill(0)
  }

  record(value: number): void {
    const { boundaries } = this
    let bucket = 0
    while (bucket < boundaries.length && value > boundaries[bucket]!) bucket++
    this.counts[bucket]!++
    this.sum += value
    this.count++
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
  }
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000)
  return [seconds, (ms - seconds * 1_000) * 1e6]
}
