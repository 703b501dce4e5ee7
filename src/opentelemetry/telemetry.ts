import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api'
import type { RouterEvent } from '../contracts/events.js'
import { refuseMisspelt, requireMethods } from '../contracts/option-checks.js'
import { version } from '../version.js'
import { CallMetrics } from './call-metrics.js'
import { CallSpans } from './call-spans.js'
import { histogramsOf } from './histograms.js'
import { LabelBook } from './labels.js'
import { SCOPE } from './names.js'
import type { Histograms } from './own-histograms.js'
import { type ObservedRouter, RouterGauges } from './router-gauges.js'

export interface TelemetryOptions {
  /** By default the global provider's, which must be registered by then; `false` for no metrics. */
  readonly meter?: Meter | false
  /** By default the global provider's; `false` for no spans. */
  readonly tracer?: Tracer | false
  /** Keeps the histograms in place of the meter's SDK, to spare calls what that spends on them. */
  readonly histograms?: Histograms
}

export interface Telemetry {
  /** For the option `onEvent` of a router, or of several. */
  readonly onEvent: (event: RouterEvent) => void
  /**
   * Adds what events do not tell to the metrics: holds open and how routes are doing. Returns what ends it. What is no
   * router is a `TypeError`.
   */
  observe(router: ObservedRouter): () => void
}

/**
 * Turns the events of routers to spans and metrics after OpenTelemetry's conventions for generative AI.
 *
 * No prompt, reply or credential is in any of them, and no account in a metric. Make one for a process: two on one meter
 * would report over each other. What the SDK throws is thrown by `onEvent`, whose caller, the router, swallows it. A
 * `TypeError` names an option that cannot be used.
 */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  refuseMisspelt(options, ['meter', 'tracer', 'histograms'], 'createTelemetry')
  const meter = options.meter ?? metrics.getMeter(SCOPE, version)
  const tracer = options.tracer ?? trace.getTracer(SCOPE, version)
  if (meter !== false) requireMethods('createTelemetry: meter', meter, ['createHistogram'])
  if (tracer !== false) requireMethods('createTelemetry: tracer', tracer, ['startSpan'])
  const { histograms } = options
  if (histograms !== undefined) {
    requireMethods('createTelemetry: histograms', histograms, ['create', 'collect'])
    if (meter === false)
      throw new TypeError('createTelemetry: histograms need a meter for what is no histogram.')
  }
  const labels = new LabelBook()
  const calls =
    meter === false ? undefined : new CallMetrics(meter, histograms?.create ?? histogramsOf(meter), labels)
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
      requireMethods('observe: router', router, ['routes'])
      if (typeof router.openHolds !== 'number') throw new TypeError('observe: router has no openHolds.')
      return gauges?.observe(router) ?? (() => {})
    },
  }
}
