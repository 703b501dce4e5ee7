import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { usesFastPath } from './base/fast-paths.js'
import { TurnGate } from './base/turn-gate.js'
import type { CallInFlight } from './contracts/call-in-flight.js'
import type { RouteHealth } from './contracts/route-health.js'
import { createEndpoints } from './endpoints/index.js'
import { createEngine } from './engine/engine.js'
import { eventError } from './engine/events/event-error.js'
import { createHttpHandler } from './http/index.js'
import { engineOptions, type RouterOptions } from './options.js'

/** Middleware for Express, Connect, bare `http` and `http2`, and a handle on what it is doing. */
export interface CompatRouter {
  /**
   * Answers a request. Returns nothing; `next` is called only for paths outside of `basePath`. Never throws, but for a
   * `TypeError` if the second argument is not a response of Node, for example if it is mounted as a handler of Koa or Hono.
   */
  (
    req: (IncomingMessage | Http2ServerRequest) & { body?: unknown },
    res: ServerResponse | Http2ServerResponse,
    next?: (error?: unknown) => void,
  ): void
  /** Chat completions under way. */
  readonly inFlight: number
  /** Holds of this router's calls that are not settled or released yet; a charge that is tried again keeps its own open. */
  readonly openHolds: number
  /** Chat completions that came in and have not ended, newest first: also those whose credential is not known yet. */
  calls(): readonly CallInFlight[]
  /** How each route that was called has been doing. */
  routes(): readonly RouteHealth[]
  /**
   * Refuses new calls, waits at most `graceMs` (10 s) for those under way, stops and charges the rest, and waits until
   * every charge is posted or reported as failed. Closes nothing that the router was given. Of the calls under way,
   * `drained` ended by themselves and `aborted` were stopped; a repeat returns the same.
   * `Infinity` waits however long they take. A `graceMs` that is no number, or below 0, is a `TypeError`, as is anything
   * but `graceMs`: nothing is closed. A signal's name, which a listener of signals is given, is passed over.
   */
  close(options?: { graceMs?: number }): Promise<{ drained: number; aborted: number }>
}

/**
 * Makes an OpenAI-compatible endpoint that charges each reply exactly.
 *
 * Mount it with `app.use('/compat/v1', createCompatRouter({ credentials, catalogue, ledger, providers }))`. Throws a
 * `TypeError` that names the option or the method that is missing.
 */
export function createCompatRouter(options: RouterOptions): CompatRouter {
  const checked = engineOptions(options)
  const { clock, emit, limits, newId } = checked
  const engine = createEngine(checked)
  const endpoints = createEndpoints(engine, { hasOpenApi: options.openapi !== false })
  const isTold = { stripped: false, unstripped: false }
  const handler = createHttpHandler(endpoints, {
    limits,
    clock,
    newId,
    turns: new TurnGate(usesFastPath('turns')),
    fastPaths: usesFastPath('chunks'),
    isClosing: () => engine.isClosing,
    ...(options.basePath !== undefined && { basePath: options.basePath }),
    onStripped() {
      if (isTold.stripped) return
      isTold.stripped = true
      process.emitWarning(
        `basePath of compat-router is ${JSON.stringify(options.basePath)}, and requests under it come without it: a mount of Express or Connect takes it off. They are passed on; leave basePath out.`,
        { code: 'COMPAT_ROUTER_BASE_PATH' },
      )
    },
    onUnstripped(mount) {
      if (isTold.unstripped) return
      isTold.unstripped = true
      process.emitWarning(
        `A request came to compat-router under ${JSON.stringify(mount)}, which nothing has taken off its path, so it was 404. Where that is the mount path, as on bare http, set basePath to it.`,
        { code: 'COMPAT_ROUTER_BASE_PATH' },
      )
    },
    onFault: (where, error, requestId) =>
      emit({ type: 'fault', where, error: eventError(error), ...(requestId !== undefined && { requestId }) }),
    onBodyConsumed: (requestId) =>
      emit({
        type: 'body-consumed',
        requestId,
        hint: 'Another middleware has read the request body and kept nothing of it in req.body. Mount compat-router before it.',
      }),
  })
  // Requests and responses of HTTP/2 have every member that is used here, which Node's types do not say.
  const router = ((req: IncomingMessage, res: ServerResponse, next) =>
    handler(req, res, next)) as CompatRouter
  return Object.defineProperties(router, {
    inFlight: { get: () => engine.inFlight },
    openHolds: { get: () => engine.openHolds },
    calls: { value: engine.calls },
    routes: { value: engine.routes },
    close: { value: engine.close },
  })
}
