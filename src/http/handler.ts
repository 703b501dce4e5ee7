import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.js'
import { CompatError } from '../base/errors.js'
import type { MemoryBudget } from '../base/memory-budget.js'
import type { TurnGate } from '../base/turn-gate.js'
import type { Endpoint } from '../contracts/endpoint.js'
import type { FastPaths } from '../contracts/index.js'
import type { Sizes, Timeouts } from '../contracts/limits.js'
import { asCompatError } from '../protocol/error-body.js'
import { BodyBudget } from './body-budget.js'
import { type CallTools, type HostRequest, HttpCall } from './call.js'
import { preflightHeaders } from './cors.js'
import { extraVersion, PathTable, pathOf, pathUnder, withoutTrailingSlashes } from './match.js'
import { HttpReply, type ReplyTools } from './reply.js'
import { requestIdOf } from './request-id.js'
import { SocketWatch } from './socket-watch.js'

export interface HttpHandlerOptions {
  readonly timeouts: Timeouts
  readonly sizes: Sizes
  readonly memory: Pick<MemoryBudget, 'give' | 'take'>
  readonly clock: Clock
  readonly newId: () => string
  /** Lets the requests of one turn of the event loop continue together. */
  readonly turns: TurnGate
  readonly fastPaths: Pick<FastPaths, 'chunks' | 'messages'>
  /** Whether connections should end with their replies. */
  readonly isClosing: () => boolean
  /** The mount path, if nothing strips it from `req.url`. Requests outside of it go to `next`, or get a 404. */
  readonly basePath?: string
  /** The address of the protected-resource metadata (RFC 9728), named in each `www-authenticate`. */
  readonly resourceMetadata?: string
  /** Called with the part of a path before a route if it caused a 404 and there is no base path. Must not throw. */
  readonly onUnstripped?: (mount: string) => void
  /** Should not throw; its errors are ignored. */
  readonly onFault: (where: string, error: unknown, requestId?: string) => void
  readonly onBodyConsumed: (requestId: string) => void
}

/** Middleware for Express, Connect, `node:http` and `node:http2`. */
export type HttpHandler = (req: HostRequest, res: ServerResponse, next?: (error?: unknown) => void) => void

/** Node emits a request before it reads a body that arrived with the headers. In the next microtask both have been read. */
const HEAD_AND_BODY_READ = Promise.resolve()

const NOT_NODES =
  "compat-router takes Node's own request and response: req.raw and reply.raw in Fastify, ctx.req and ctx.res in Koa, c.env.incoming and c.env.outgoing in Hono."

/**
 * Connects the endpoints to a host's server. The handler returns no promise. It throws only if it was given no response
 * that it could answer or end.
 */
export function createHttpHandler(endpoints: readonly Endpoint[], options: HttpHandlerOptions): HttpHandler {
  const basePath = withoutTrailingSlashes(options.basePath ?? '')
  const onFault: HttpHandlerOptions['onFault'] = (where, error, requestId) => {
    try {
      options.onFault(where, error, requestId)
    } catch {
      // The error cannot be reported any more, and a throw from here would end the host's process.
    }
  }
  const { sizes, memory, turns } = options
  const tools: CallTools & ReplyTools = {
    ...options,
    onFault,
    resourceMetadata: options.resourceMetadata,
    sockets: new SocketWatch(),
    budget: new BodyBudget(Math.min(sizes.bodyBytesInFlight, sizes.memoryBytes), memory),
  }
  const paths = new PathTable(endpoints)

  function answer(req: HostRequest, res: ServerResponse, path: string | undefined): void {
    const match = path === undefined ? undefined : paths.find(path)
    const method = req.method === 'HEAD' ? 'GET' : req.method
    const endpoint = match?.endpoints.find((candidate) => candidate.method === method)
    const isPublic = endpoint?.isPublic === true
    const requestId = requestIdOf(req, res, options.newId)
    const call = new HttpCall(requestId.id, req, tools)
    const reply = new HttpReply(req, res, requestId, call, tools, isPublic, match?.endpoints[0]?.errors)
    if (match === undefined) {
      if (path !== undefined && basePath === '') reportMount(req, path)
      reply.sendError(notFound(req, path))
    } else if (endpoint === undefined) refuseMethod(req, res, match.endpoints, reply)
    else run(endpoint, match.parameter, call, reply, res)
  }

  function notFound(req: HostRequest, path: string | undefined): CompatError {
    if (path === undefined || !paths.hasExtraVersion(path)) return unknownPath(endpoints, path)
    const whole = typeof req.originalUrl === 'string' ? req.originalUrl : req.url
    return extraVersion(pathOf(whole ?? ''), path)
  }

  // If a host has stripped a mount path, the part before a route is a mistake of the client.
  function reportMount(req: HostRequest, path: string): void {
    const mount = paths.mountOf(path)
    const isWhole = req.originalUrl === undefined || req.originalUrl === req.url
    if (mount !== undefined && isWhole) options.onUnstripped?.(mount)
  }

  const ended = (): void => turns.leave()

  function run(
    endpoint: Endpoint,
    parameter: string,
    call: HttpCall,
    reply: HttpReply,
    res: ServerResponse,
  ): void {
    const failed = (error: unknown): void => {
      ended()
      onFault('http endpoint', error, call.requestId)
      try {
        reply.fail(asCompatError(error))
      } catch (fault) {
        onFault('http reply', fault, call.requestId)
        res.destroy()
      }
    }
    const begin = (): void => {
      try {
        endpoint.answer(call, reply, parameter).then(ended, failed)
      } catch (error) {
        failed(error)
      }
    }
    turns.enter()
    if (call.keepBody()) (turns.wait() ?? HEAD_AND_BODY_READ).then(begin)
    else begin()
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

function unknownPath(endpoints: readonly Endpoint[], path: string | undefined): CompatError {
  const known = endpoints
    .filter(({ isPublic, openapi }) => isPublic !== true && openapi !== undefined)
    .map(({ method, path }) => `${method} ${path}`)
  return new CompatError(
    'not_found',
    `${describeAbsence(path)} Below the mount path there are ${known.slice(0, -1).join(', ')} and ${known.at(-1)}.`,
  )
}

function refuseMethod(
  { headers, method }: HostRequest,
  res: ServerResponse,
  endpoints: readonly Endpoint[],
  reply: HttpReply,
): void {
  const allow = [
    ...endpoints.flatMap(({ method: known }) => (known === 'GET' ? ['GET', 'HEAD'] : [known])),
    'OPTIONS',
  ].join(', ')
  if (method === 'OPTIONS') {
    reply.sendNoContent({ allow, ...preflightHeaders(headers, res, allow) })
    return
  }
  // Some agents try a web socket first.
  const refused = headers.upgrade?.toLowerCase() === 'websocket' ? 'web sockets' : method
  reply.sendError(
    new CompatError('method_not_allowed', `This path does not accept ${refused}; it accepts ${allow}.`, {
      headers: { allow },
    }),
  )
}

/** APIs of OpenAI and others that no router has, by the first segment of their paths. */
const ABSENT: ReadonlyMap<string, string> = new Map([
  ['images', 'images'],
  ['videos', 'videos'],
  ['audio', 'audio'],
  ['realtime', 'realtime sessions'],
  ['moderations', 'moderations'],
  ['rerank', 'reranking'],
  ['files', 'files'],
  ['uploads', 'uploads'],
  ['vector_stores', 'vector stores'],
  ['batches', 'batches'],
  ['fine_tuning', 'fine-tuning'],
  ['assistants', 'assistants'],
  ['threads', 'threads'],
  ['conversations', 'stored conversations'],
  ['evals', 'evals'],
  ['containers', 'containers'],
])

/** Returns the first sentence of the 404 for a path below the mount. */
function describeAbsence(path: string | undefined): string {
  const [first, second] = path?.split('/').filter(Boolean) ?? []
  if (first === 'completions' && second === undefined) {
    return 'There is no POST /completions: send the prompt as a message to POST /chat/completions.'
  }
  const api = ABSENT.get(first ?? '')
  return api === undefined ? 'There is no endpoint at this path.' : `This service has no API for ${api}.`
}
