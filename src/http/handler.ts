import type { ServerResponse } from 'node:http'
import type { Endpoint } from '../contracts/endpoint.js'
import type { FastPaths } from '../contracts/index.js'
import { Answers, endpointFor, type HostOptions } from '../hosts/answers.js'
import { pathOf, pathUnder } from '../hosts/match.js'
import { requestIdOf } from '../hosts/request-id.js'
import { type HostRequest, HttpCall } from './call.js'
import { HttpReply, type ReplyTools } from './reply.js'
import { SocketWatch } from './socket-watch.js'

export interface HttpHandlerOptions extends HostOptions {
  readonly fastPaths: Pick<FastPaths, 'chunks' | 'messages'>
  /** Whether connections should end with their replies. */
  readonly isClosing: () => boolean
}

/**
 * Middleware for Express, Connect, `node:http` and `node:http2`. Requests outside of the mount path go to `next`, or get
 * a 404.
 */
export type HttpHandler = (req: HostRequest, res: ServerResponse, next?: (error?: unknown) => void) => void

const NOT_NODES =
  "compat-router takes Node's own request and response: req.raw and reply.raw in Fastify, ctx.req and ctx.res in Koa. For a web Request, as in Hono, Next.js or Bun, there is createCompatHandler of compat-router/fetch."

/**
 * Connects the endpoints to a host's server. The handler returns no promise. It throws only if it was given no response
 * that it could answer or end.
 */
export function createHttpHandler(endpoints: readonly Endpoint[], options: HttpHandlerOptions): HttpHandler {
  const answers = new Answers(endpoints, options)
  const { basePath, onFault, tools } = answers
  const { fastPaths, isClosing, newId, resourceMetadata, timeouts } = options
  const replyTools: ReplyTools = {
    fastPaths,
    isClosing,
    onFault,
    resourceMetadata,
    timeouts,
    sockets: new SocketWatch(),
  }

  function answer(req: HostRequest, res: ServerResponse, path: string | undefined): void {
    const match = answers.match(path)
    const endpoint = endpointFor(match, req.method)
    const requestId = requestIdOf(req.headers['x-request-id'], res.getHeader('x-request-id'), newId)
    const call = new HttpCall(requestId.id, req, tools)
    const isPublic = endpoint?.isPublic === true
    const reply = new HttpReply(req, res, requestId, call, replyTools, isPublic, match?.endpoints[0]?.errors)
    answers.answer(path, match, endpoint, call, reply)
  }

  // Hosts see its name, for example in the traces of Express.
  const router: HttpHandler = (req, res, next) => {
    const path = pathUnder(basePath, pathOf(req.url ?? '')) ?? strippedPath(req, basePath)
    if (path === undefined && next !== undefined) {
      next()
      return
    }
    try {
      if (hasEnded(req, res)) return
      answer(req, res, path)
    } catch (error) {
      const cause = isNodes(req, res) ? error : new TypeError(NOT_NODES, { cause: error })
      onFault('http handler', cause)
      if (typeof res?.destroy !== 'function') throw cause
      res.destroy()
    }
  }
  return router
}

/** Frameworks pass their own request and response to a router that is mounted as one of their handlers. */
function isNodes(req: HostRequest, res: ServerResponse): boolean {
  return typeof req.on === 'function' && typeof res?.destroy === 'function'
}

/** Returns the part after the base path if a mount has stripped more. Express, Connect and NestJS keep the whole path. */
function strippedPath({ originalUrl }: HostRequest, basePath: string): string | undefined {
  return typeof originalUrl === 'string' ? pathUnder(basePath, pathOf(originalUrl)) : undefined
}

/** Whether the host has answered or the client has left before the request reached the router. */
function hasEnded(req: HostRequest, res: ServerResponse): boolean {
  return res.headersSent || res.writableEnded || req.socket.destroyed
}
