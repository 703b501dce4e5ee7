import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import type { CompatHandler } from '../../src/handler.js'
import { listenHttp, MOUNT, type MountedHost } from './listen-http.js'

/** A host that asks a handler by a web `Request`. */
export interface FetchHost {
  readonly name: string
  readonly protocol: 'http1'
  readonly basePath: string
  readonly takes: 'requests'
  mount(handler: CompatHandler): Promise<MountedHost>
}

/** Every kind of host of web `Request`s that runs in this process. */
export const fetchHosts: readonly FetchHost[] = [
  fetchHost('fetch', (handler) => bridge(handler)),
  fetchHost('hono', (handler) => {
    const app = new Hono().all(`${MOUNT}/*`, (c) => handler(c.req.raw))
    return getRequestListener(app.fetch)
  }),
]

function fetchHost(name: string, build: (handler: CompatHandler) => RequestListener): FetchHost {
  return {
    name,
    protocol: 'http1',
    basePath: MOUNT,
    takes: 'requests',
    mount: (handler) => listenHttp(createServer(build(handler))),
  }
}

/** The plainest server of web `Request`s and `Response`s: each is the runtime's own. */
export function bridge(handler: (request: Request) => Promise<Response>): RequestListener {
  return (req, res) => {
    void answer(handler, req, res)
  }
}

async function answer(
  handler: (request: Request) => Promise<Response>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const left = new AbortController()
  res.on('close', () => {
    if (!res.writableFinished) left.abort()
  })
  const response = await handler(asRequest(req, left.signal))
  res.writeHead(response.status, Object.fromEntries(response.headers))
  res.flushHeaders()
  const reader = response.body?.getReader()
  if (reader === undefined) {
    res.end()
    return
  }
  let goOn = (): void => {}
  res.on('drain', () => goOn())
  res.on('close', () => {
    goOn()
    reader.cancel().catch(() => undefined)
  })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      if (!res.write(value))
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
    }
    res.end()
  } catch {
    res.destroy()
  }
}

function asRequest(req: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers()
  for (let index = 0; index < req.rawHeaders.length; index += 2) {
    headers.append(req.rawHeaders[index]!, req.rawHeaders[index + 1]!)
  }
  const { method = 'GET' } = req
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? { body: Readable.toWeb(req) as ReadableStream, duplex: 'half' as const } : {}
  return new Request(`http://127.0.0.1${req.url}`, { method, headers, signal, ...body })
}
