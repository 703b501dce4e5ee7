import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import { CERTIFICATE } from './certificate.js'

export interface RequestOptions {
  method?: string
  headers?: http.OutgoingHttpHeaders
  body?: string | Uint8Array
}

export interface HostResponse {
  status: number
  headers: IncomingHttpHeaders
  /** The body as it arrives. */
  body: Readable
  text(): Promise<string>
  json(): Promise<unknown>
}

export interface MountedHost {
  /** Including the mount, without a trailing slash. */
  baseUrl: string
  port: number
  /** Sends a request to a path below the mount, in the host's protocol, on a connection that `close` ends. */
  request(path: string, options?: RequestOptions): Promise<HostResponse>
  close(): Promise<void>
}

/** The path at which every host mounts the middleware. */
export const MOUNT = '/compat/v1'

/** Starts any HTTP/1 server on a free port of 127.0.0.1. */
export async function listenHttp(
  server: http.Server | https.Server | http2.Http2SecureServer,
  mount = MOUNT,
): Promise<MountedHost> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const address = await listen(server)
  const baseUrl = address.origin + mount
  return {
    baseUrl,
    port: address.port,
    request: (path, options) => requestHttp(baseUrl + path, options),
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Listens on a free port of 127.0.0.1. */
export async function listen(server: Server): Promise<{ origin: string; port: number }> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { origin: `${server instanceof tls.Server ? 'https' : 'http'}://127.0.0.1:${port}`, port }
}

async function requestHttp(url: string, options: RequestOptions = {}): Promise<HostResponse> {
  const send = url.startsWith('https:') ? https.request : http.request
  const request = send(url, {
    agent: false,
    ca: CERTIFICATE.cert,
    method: options.method ?? 'GET',
    headers: options.headers ?? {},
  })
  request.on('error', () => undefined)
  request.end(options.body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return asResponse(response.statusCode ?? 0, response.headers, response)
}

export function asResponse(status: number, headers: IncomingHttpHeaders, body: Readable): HostResponse {
  // A server that closes the connection is a finding of the test that reads on, not an uncaught error.
  body.on('error', () => undefined)
  return { status, headers, body, text: () => text(body), json: async () => JSON.parse(await text(body)) }
}
