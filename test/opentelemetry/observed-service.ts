import type { Attributes } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type ViewOptions,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'
import { createTelemetry, type Telemetry } from '../../src/opentelemetry/index.js'
import { type Service, type ServiceOptions, startService } from '../routing/service.js'

export interface Point {
  readonly attributes: Attributes
  readonly value: number | Histogram
}

export interface Exported {
  readonly telemetry: Telemetry
  /** The points that the SDK would send now, by the name of the instrument. */
  metrics(): Promise<Readonly<Record<string, readonly Point[]>>>
  /** The one value whose attributes contain these, or undefined. */
  value(name: string, attributes?: Attributes): Promise<number | undefined>
  histogram(name: string, attributes?: Attributes): Promise<Histogram | undefined>
  spans(): readonly ReadableSpan[]
  /** All metrics and spans as text. */
  text(): Promise<string>
}

export interface ExportOptions {
  readonly sampler?: Sampler
  readonly views?: ViewOptions[]
}

/** Telemetry on the SDK, which exports to memory. */
export function exportToMemory({ sampler, views }: ExportOptions = {}): Exported {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000_000_000 })
  const meters = new MeterProvider({ readers: [reader], ...(views && { views }) })
  const spanExporter = new InMemorySpanExporter()
  const tracers = new BasicTracerProvider({
    ...(sampler && { sampler }),
    spanProcessors: [new SimpleSpanProcessor(spanExporter)],
  })
  onTestFinished(async () => {
    await meters.shutdown()
    await tracers.shutdown()
  })
  async function collect() {
    exporter.reset()
    await reader.forceFlush()
    return exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
  }
  async function metrics(): Promise<Record<string, readonly Point[]>> {
    const found = await collect()
    return Object.fromEntries(
      found.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints as readonly Point[]]),
    )
  }
  async function point(name: string, attributes: Attributes = {}): Promise<Point | undefined> {
    const points = ((await metrics())[name] ?? []).filter((one) =>
      Object.entries(attributes).every(([key, value]) => one.attributes[key] === value),
    )
    if (points.length > 1) throw new Error(`${name} has ${points.length} points with these attributes`)
    return points[0]
  }
  return {
    telemetry: createTelemetry({ meter: meters.getMeter('test'), tracer: tracers.getTracer('test') }),
    metrics,
    value: async (name, attributes) => (await point(name, attributes))?.value as number | undefined,
    histogram: async (name, attributes) => (await point(name, attributes))?.value as Histogram | undefined,
    spans: () => spanExporter.getFinishedSpans(),
    text: async () => {
      const spans = spanExporter
        .getFinishedSpans()
        .map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links }))
      return JSON.stringify([await collect(), spans])
    },
  }
}

/** A router on sockets, observed by telemetry. */
export async function startObserved(
  options: ServiceOptions = {},
  exported = exportToMemory(),
): Promise<{ service: Service; exported: Exported }> {
  const service = await startService({
    ...options,
    router: { ...options.router, onEvent: exported.telemetry.onEvent },
  })
  exported.telemetry.observe(service.router)
  onTestFinished(() => service.close())
  return { service, exported }
}
