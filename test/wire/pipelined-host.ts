import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { Client, type Dispatcher } from 'undici'
import type { Host } from '../helpers/hosts.js'
import { listenHttp, MOUNT, type RequestOptions } from '../helpers/listen-http.js'

/**
 * Bare `http`, with each request as the second of two pipelined on one connection. The first is passed on
 * only when the second has arrived, so that the second response has no socket yet.
 */
export const pipelinedHost: Host = {
  name: 'bare http, as the second of two pipelined requests',
  protocol: 'http1',
  basePath: MOUNT,
  async mount(middleware) {
    const first = new Map<unknown, { req: IncomingMessage; res: ServerResponse }>()
    const server = http.createServer((req, res) => {
      const held = first.get(req.socket)
      if (held === undefined) {
        first.set(req.socket, { req, res })
        req.socket.once('close', () => first.delete(req.socket))
        return
      }
      if (res.socket !== null) throw new Error('The request was not pipelined.')
      middleware(held.req, held.res)
      middleware(req, res)
    })
    const mounted = await listenHttp(server)
    const clients = new Set<Client>()
    const request = async (path: string, options: RequestOptions = {}) => {
      const client = new Client(`http://127.0.0.1:${mounted.port}`, { pipelining: 2, bodyTimeout: 0 })
      clients.add(client)
      const opened = client.request({ path: `${MOUNT}/openapi.json`, method: 'GET', blocking: false })
      const answered = client.request({
        path: MOUNT + path,
        method: (options.method ?? 'GET') as Dispatcher.HttpMethod,
        headers: options.headers as Record<string, string>,
        body: options.body ?? null,
        // Otherwise the client delays it until the first is answered.
        idempotent: true,
        blocking: false,
      })
      await (await opened).body.dump()
      const { statusCode, headers, body } = await answered
      body.on('error', () => undefined)
      body.on('close', () => client.destroy().catch(() => undefined))
      return {
        status: statusCode,
        headers: headers as IncomingHttpHeaders,
        body,
        text: () => text(body),
        json: () => json(body),
      }
    }
    return {
      ...mounted,
      request,
      async close() {
        await Promise.all([...clients].map((client) => client.destroy()))
        await mounted.close()
      },
    }
  },
}
