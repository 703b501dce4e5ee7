/**
 * Preloaded before a peer that has no setting for the address of its provider or price list: connections to these hosts go
 * to a plain port of this machine instead. `EXACTNESS_REDIRECT` is JSON, from host names to ports.
 */
import http from 'node:http'
import https from 'node:https'
import { syncBuiltinESMExports } from 'node:module'

const ports = JSON.parse(process.env.EXACTNESS_REDIRECT ?? '{}') as Record<string, number>

function portOf(host: unknown): number | undefined {
  return typeof host === 'string' ? ports[host] : undefined
}

const request = https.request as (...given: unknown[]) => http.ClientRequest
https.request = ((...given: unknown[]) => {
  const options = given.find((value) => typeof value === 'object') as http.RequestOptions | undefined
  const port = portOf(options?.hostname ?? options?.host)
  if (port === undefined) return request(...given)
  const { agent: _, ...rest } = options!
  const listener = given.findLast((value) => typeof value === 'function') as never
  return http.request(
    { ...rest, protocol: 'http:', hostname: '127.0.0.1', host: '127.0.0.1', port },
    listener,
  )
}) as typeof https.request
syncBuiltinESMExports()

const fetchAnywhere = globalThis.fetch
globalThis.fetch = (input, init) => {
  const url = new URL(input instanceof Request ? input.url : String(input))
  const port = portOf(url.hostname)
  if (port === undefined) return fetchAnywhere(input, init)
  return fetchAnywhere(`http://127.0.0.1:${port}${url.pathname}${url.search}`, init)
}
