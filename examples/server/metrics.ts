import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { CompatRouter, RouterEvent } from 'compat-router'
import { createTelemetry } from 'compat-router/opentelemetry'
import type { RequestHandler } from 'express'
import { namesThisMachine } from './same-origin.js'

export interface PrometheusMetrics {
  readonly onEvent: (event: RouterEvent) => void
  /** A handler of `GET /metrics` with the metrics of events and of this router. */
  serve(router: CompatRouter): RequestHandler
}

/**
 * Metrics for a Prometheus on this machine.
 *
 * They name models, providers and amounts, so they need a port of their own that listens on loopback only: on the port of
 * the application, requests through a proxy look local too, and not every proxy says that it is one. Requests with another
 * host name are refused.
 */
export function prometheusMetrics(): PrometheusMetrics {
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  })
  const meter = new MeterProvider({ readers: [exporter] }).getMeter('compat-router')
  const telemetry = createTelemetry({ meter, tracer: false })
  return {
    onEvent: telemetry.onEvent,
    serve(router) {
      telemetry.observe(router)
      return (req, res) => {
        if (namesThisMachine(req)) exporter.getMetricsRequestHandler(req, res)
        else res.status(403).type('text').send('Metrics are for programs on this machine.\n')
      }
    },
  }
}
