import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import Hapi from '@hapi/hapi'
import compression from 'compression'
import connect from 'connect'
import express from 'express'
import express4 from 'express4'
import Koa from 'koa'
import { CERTIFICATE } from './certificate.js'
import {
  asResponse,
  type HostResponse,
  listen,
  listenHttp,
  MOUNT,
  type MountedHost,
  type RequestOptions,
} from './listen-http.js'

/** Any middleware; a `CompatRouter` is one. */
export type Middleware = (
  req: IncomingMessage & { body?: unknown },
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void

export interface Host {
  name: string
  protocol: 'http1' | 'http2'
  /** The option that the middleware needs, because this host does not strip the mount. */
  basePath?: string
  /** Whether the host itself refuses a path with an invalid escape. */
  decodesPaths?: boolean
  /** Whether another middleware reads the body first. */
  readsBody?: boolean
  mount(middleware: Middleware): Promise<MountedHost>
}

const PARSER_LIMIT = '40mb'

/**
 * Every kind of server that the middleware supports. A suite that runs against all of them loops over this.
 */
export const hosts: readonly Host[] = [
  overHttp('Express 5', (middleware) => express().use(MOUNT, middleware)),
  overHttp('Express 4', (middleware) => express4().use(MOUNT, middleware)),
  overHttp('Connect', (middleware) => connect().use(MOUNT, middleware)),
  overHttp('bare http with a base path', (middleware) => (req, res) => middleware(req, res), {
    basePath: MOUNT,
  }),
  overHttp('in front of Express', inFrontOfExpress, { basePath: MOUNT }),
  overHttp('a mount within a mount', (middleware) => {
    const router = express.Router()
    router.use('/v1', middleware)
    return express().use('/compat', router)
  }),
  overHttp('an Express app within an Express app', (middleware) =>
    express().use('/compat', express().use('/v1', middleware)),
  ),
  behindParser('behind express.json', express.json({ limit: PARSER_LIMIT })),
  behindParser('behind express.text', express.text({ limit: PARSER_LIMIT, type: () => true })),
  behindParser('behind express.raw', express.raw({ limit: PARSER_LIMIT, type: () => true })),
  overHttp('behind compression', (middleware) =>
    express()
      .use(compression({ threshold: 0 }))
      .use(MOUNT, middleware),
  ),
  overHttp(
    'Koa',
    (middleware) =>
      new Koa()
        .use((ctx) => {
          ctx.respond = false
          middleware(ctx.req, ctx.res)
        })
        .callback(),
    { basePath: MOUNT },
  ),
  {
    name: 'hapi',
    protocol: 'http1',
    decodesPaths: true,
    basePath: MOUNT,
    async mount(middleware) {
      const server = Hapi.server({ host: '127.0.0.1' })
      server.route({
        method: '*',
        path: '/{path*}',
        options: { payload: { parse: false, output: 'stream', maxBytes: 1e9, timeout: false } },
        handler: ({ raw }, h) => {
          middleware(raw.req, raw.res)
          return h.abandon
        },
      })
      await server.initialize()
      return listenHttp(server.listener)
    },
  },
  {
    name: 'https',
    protocol: 'http1',
    basePath: MOUNT,
    mount: (middleware) => listenHttp(https.createServer(CERTIFICATE, (req, res) => middleware(req, res))),
  },
  {
    name: 'bare http2',
    protocol: 'http2',
    basePath: MOUNT,
    mount: (middleware) => mountHttp2(http2.createServer(asHttp2(middleware))),
  },
  {
    name: 'http2 over TLS',
    protocol: 'http2',
    basePath: MOUNT,
    mount: (middleware) => mountHttp2(secureHttp2(middleware)),
  },
  {
    name: 'http2 over TLS, called over HTTP/1.1',
    protocol: 'http1',
    basePath: MOUNT,
    mount: (middleware) => listenHttp(secureHttp2(middleware)),
  },
]

function overHttp(
  name: string,
  build: (middleware: Middleware) => http.RequestListener,
  more: Partial<Host> = {},
): Host {
  return {
    name,
    protocol: 'http1',
    ...more,
    mount: (middleware) => listenHttp(http.createServer(build(middleware))),
  }
}

function behindParser(name: string, parser: express.RequestHandler): Host {
  return overHttp(name, (middleware) => express().use(parser).use(MOUNT, middleware), { readsBody: true })
}

function inFrontOfExpress(middleware: Middleware): http.RequestListener {
  const app = express()
  app.use((_req, res) => {
    res.status(418).send('the host itself')
  })
  return (req, res) => middleware(req, res, () => app(req, res))
}

function secureHttp2(middleware: Middleware): http2.Http2SecureServer {
  return http2.createSecureServer({ ...CERTIFICATE, allowHTTP1: true }, asHttp2(middleware))
}

/** The compatibility classes have everything that middleware uses, but Node's types do not say so. */
function asHttp2(middleware: Middleware) {
  return (req: http2.Http2ServerRequest, res: http2.Http2ServerResponse): void =>
    middleware(req as unknown as IncomingMessage, res as unknown as ServerResponse)
}

async function mountHttp2(server: http2.Http2Server | http2.Http2SecureServer): Promise<MountedHost> {
  const sessions = new Set<http2.Http2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => undefined)
    session.on('close', () => sessions.delete(session))
  })
  const { origin, port } = await listen(server)
  const client = http2.connect(origin, { ca: CERTIFICATE.cert })
  client.on('error', () => undefined)
  return {
    baseUrl: origin + MOUNT,
    port,
    request: (path, options) => requestHttp2(client, MOUNT + path, options),
    async close() {
      const closed = once(server, 'close')
      server.close()
      client.destroy()
      for (const session of sessions) session.destroy()
      await closed
    },
  }
}

async function requestHttp2(
  client: http2.ClientHttp2Session,
  path: string,
  options: RequestOptions = {},
): Promise<HostResponse> {
  const stream = client.request({
    ...options.headers,
    ':path': path,
    ':method': options.method ?? 'GET',
    ...(options.body === undefined ? {} : { 'content-length': Buffer.byteLength(options.body) }),
  })
  stream.end(options.body)
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  return asResponse(Number(headers[':status']), headers, stream)
}
