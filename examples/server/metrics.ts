import type { IncomingMessage } from 'node:http'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { CompatRouter, RouterEvent } from 'compat-router'
import { createTelemetry } from 'compat-router/opentelemetry'
import type { RequestHandler } from 'express'

export interface PrometheusMetrics {
  readonly onEvent: (event: RouterEvent) => void
  /** A handler of `GET /metrics` with the metrics of events and of this router. */
  serve(router: CompatRouter): RequestHandler
}

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/
const OWN_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/i
const HTTP_PORT = 80
const PROXIED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/**
 * Metrics for a Prometheus on this machine, served by the example's own server.
 *
 * They name models, providers and amounts, so only programs on this machine get them. Requests through a proxy are
 * refused, because they all look local. So are requests with another host name: a page in a local browser could send
 * those after its own name was pointed at this machine.
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
        if (isLocal(req)) exporter.getMetricsRequestHandler(req, res)
        else res.status(403).type('text').send('Metrics are for programs on this machine.\n')
      }
    },
  }
}

function isLocal({ headers, socket }: IncomingMessage): boolean {
  const isDirect =
    LOOPBACK.test(socket.remoteAddress ?? '') && PROXIED.every((name) => headers[name] === undefined)
  const host = OWN_HOST.exec(headers.host ?? '')
  return isDirect && host !== null && Number(host[1] ?? HTTP_PORT) === socket.localPort
}
