import type { Attributes } from '@opentelemetry/api'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { histogramsOf, type Series } from '../../src/opentelemetry/histograms.js'
import { createHistograms, createTelemetry, type Histograms } from '../../src/opentelemetry/index.js'
import { getOrMake } from '../../src/opentelemetry/totals.js'
import { version } from '../../src/version.js'
import { startService } from '../routing/service.js'

const ATTRIBUTES: readonly Attributes[] = [
  { 'gen_ai.request.model': 'acme/fast' },
  { 'gen_ai.request.model': 'acme/fast', 'error.type': 'provider_error' },
]
const SETTINGS = { name: 'test.times', unit: 's', description: 'Times.', boundaries: [0.5, 1, 2.5] }

/** An SDK with a reader that has these histograms as a producer. */
function startSdk(histograms: Histograms) {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const exportIntervalMillis = 1_000_000_000
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis,
    metricProducers: [histograms],
  })
  const provider = new MeterProvider({ readers: [reader] })
  onTestFinished(() => provider.shutdown())
  return {
    meter: provider.getMeter('sdk'),
    async collect() {
      exporter.reset()
      await reader.forceFlush()
      return exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
    },
  }
}

/** What of a point does not depend on when it was made. */
function timeless(points: readonly DataPoint<unknown>[]) {
  return points.map(({ attributes, value }) => ({ attributes, value: value as Histogram }))
}

const values = fc.array(
  fc.record({
    value: fc.oneof(fc.constantFrom(0, 0.5, 1, 2.5, 2.500_000_1), fc.double({ min: 0, max: 9, noNaN: true })),
    series: fc.constantFrom(...ATTRIBUTES),
  }),
  { minLength: 1, maxLength: 50 },
)

it('are what the SDK would have made of the same values', async () => {
  await fc.assert(
    fc.asyncProperty(values, async (recorded) => {
      const own = createHistograms()
      const { meter, collect } = startSdk(own)
      const histograms = [own.create(SETTINGS), histogramsOf(meter)(SETTINGS)]
      const known = new Map<Attributes, Series[]>()
      for (const { value, series: attributes } of recorded) {
        const make = () => histograms.map((histogram) => histogram.series(attributes))
        for (const series of getOrMake(known, attributes, make)) series.record(value)
      }
      const metrics = (await collect()).flatMap((scope) => scope.metrics)
      expect(metrics.map(({ descriptor }) => descriptor.name)).toEqual([SETTINGS.name, SETTINGS.name])
      const [fromSdk, fromOwn] = metrics
      expect(timeless(fromOwn!.dataPoints)).toEqual(timeless(fromSdk!.dataPoints))
      const { descriptor, aggregationTemporality, dataPointType } = fromOwn!
      expect(fromSdk).toMatchObject({ descriptor, aggregationTemporality, dataPointType })
    }),
    { numRuns: 40, seed: 11 },
  )
})

it('add up from one reading to the next, from when they were made, and what was read stays as it was', async () => {
  const own = createHistograms()
  const { collect } = startSdk(own)
  const before = Date.now()
  const series = own.create(SETTINGS).series(ATTRIBUTES[0]!)
  expect(await collect()).toEqual([])
  const read = async () => {
    const [scope] = await collect()
    expect(scope!.scope).toEqual({ name: 'compat-router', version })
    return scope!.metrics[0]!.dataPoints[0] as DataPoint<Histogram>
  }
  series.record(2)
  const first = await read()
  series.record(7)
  expect(await read()).toMatchObject({
    value: { count: 2, sum: 9, min: 2, max: 7 },
    startTime: first.startTime,
  })
  expect(first.value).toMatchObject({ count: 1, sum: 2, buckets: { counts: [0, 0, 1, 0] } })
  const [seconds, nanoseconds] = first.startTime
  expect(seconds * 1_000 + nanoseconds / 1e6).toBeGreaterThanOrEqual(before)
  expect(first.endTime[0]).toBeGreaterThanOrEqual(seconds)
})

it('are one beyond as many series as the SDK tells apart, and no value is lost', async () => {
  const own = createHistograms()
  const { collect } = startSdk(own)
  const histogram = own.create(SETTINGS)
  for (let series = 0; series < 2_100; series++) histogram.series({ series }).record(1)
  const points = timeless((await collect())[0]!.metrics[0]!.dataPoints)
  expect(points).toHaveLength(1_999)
  expect(points.at(-1)).toMatchObject({
    attributes: { 'otel.metric.overflow': true },
    value: { count: 102 },
  })
  expect(points.reduce((sum, { value }) => sum + value.count, 0)).toBe(2_100)
})

it('reach Prometheus beside the counters of the meter, each metric once', async () => {
  const histograms = createHistograms()
  const exporter = new PrometheusExporter({ preventServerStart: true, metricProducers: [histograms] })
  const provider = new MeterProvider({ readers: [exporter] })
  onTestFinished(() => provider.shutdown())
  const telemetry = createTelemetry({ meter: provider.getMeter('test'), histograms, tracer: false })
  const service = await startService({ router: { onEvent: telemetry.onEvent } })
  onTestFinished(() => service.close())
  await service.end(await service.ask({}))
  const text = await new Promise<string>((resolve) => {
    const response = { statusCode: 0, setHeader() {}, end: resolve }
    exporter.getMetricsRequestHandler({} as never, response as never)
  })
  for (const name of ['gen_ai_server_request_duration', 'gen_ai_client_token_usage']) {
    expect(text.match(new RegExp(`^# TYPE ${name} histogram$`, 'gm'))).toHaveLength(1)
  }
  expect(text).toMatch(/^gen_ai_server_request_duration_count\{.*gen_ai_request_model="acme\/fast".*\} 1$/m)
  expect(text).toMatch(/^compat_router_requests_total\{.*\} 1$/m)
})

it('belong to one createTelemetry, and need its meter', () => {
  const meter = new MeterProvider().getMeter('test')
  const histograms = createHistograms()
  createTelemetry({ meter, histograms, tracer: false })
  expect(() => createTelemetry({ meter, histograms, tracer: false })).toThrow(
    new TypeError(
      'createTelemetry: histograms are those of another createTelemetry; make one for a process.',
    ),
  )
  expect(() => createTelemetry({ meter: false, histograms: createHistograms() })).toThrow(
    new TypeError('createTelemetry: histograms need a meter for what is no histogram.'),
  )
  expect(() => createTelemetry({ meter, histograms: {} as never })).toThrow(/createTelemetry: histograms/)
})
