import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api'
import { z } from 'zod'
import { version } from '../base/version.js'
import type { RouterEvent } from '../contracts/events.js'
import { optionsSchema, readOptions, withMethods } from '../rules/read-options.js'
import { CallMetrics } from './call-metrics.js'
import { CallSpans } from './call-spans.js'
import { LabelBook } from './labels.js'
import { SCOPE } from './names.js'
import { type ObservedRouter, RouterGauges } from './router-gauges.js'

export interface TelemetryOptions {
  /** By default a meter of the global provider, which must already be registered. `false` for no metrics. */
  readonly meter?: Meter | false
  /** By default a tracer of the global provider. `false` for no spans. */
  readonly tracer?: Tracer | false
}

const telemetrySchema = optionsSchema<TelemetryOptions>({
  meter: z
    .union(
      [z.literal(false), withMethods<Meter>('createHistogram')],
      'must be false, or a meter with createHistogram',
    )
    .optional(),
  tracer: z
    .union([z.literal(false), withMethods<Tracer>('startSpan')], 'must be false, or a tracer with startSpan')
    .optional(),
})

const routerSchema = withMethods<ObservedRouter>('routes').refine(
  ({ openHolds }) => typeof openHolds === 'number',
  'has no openHolds',
)

export interface Telemetry {
  /** For the option `onEvent` of one or more routers. */
  readonly onEvent: (event: RouterEvent) => void
  /**
   * Adds metrics that no event contains: open holds and the health of routes. Returns a function that stops observing
   * the router. Throws a `TypeError` if the value is not a router.
   */
  observe(router: ObservedRouter): () => void
}

/**
 * Turns the events of routers into spans and metrics that follow OpenTelemetry's conventions for generative AI.
 *
 * They contain no prompt, reply or credential, and metrics contain no account. Create one per process: two on one meter
 * would overwrite each other's values. `onEvent` throws if the SDK throws; the router that calls it ignores the error.
 * Throws a `TypeError` that names an unusable option.
 */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  const { meter = metrics.getMeter(SCOPE, version), tracer = trace.getTracer(SCOPE, version) } = readOptions(
    telemetrySchema,
    options,
    'createTelemetry',
  )
  const labels = new LabelBook()
  const calls = meter === false ? undefined : new CallMetrics(meter, labels)
  const gauges = meter === false ? undefined : new RouterGauges(meter, labels)
  const spans = tracer === false ? undefined : new CallSpans(tracer)
  return {
    onEvent(event) {
      try {
        calls?.record(event)
      } finally {
        spans?.record(event)
      }
    },
    observe(router) {
      readOptions(routerSchema, router, 'observe', { field: 'router' })
      return gauges?.observe(router) ?? (() => {})
    },
  }
}
