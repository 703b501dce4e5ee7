import { TurnGate } from './base/turn-gate.js'
import type { CallInFlight } from './contracts/call-in-flight.js'
import type { Endpoint } from './contracts/endpoint.js'
import type { RouteHealth } from './contracts/route-health.js'
import { createEndpoints, RecentItems } from './endpoints/index.js'
import { createEngine } from './engine/engine.js'
import { eventError } from './engine/events/event-error.js'
import type { HttpHandlerOptions } from './http/index.js'
import { engineOptions, type RouterOptions, recallBounds, type StoredRouterOptions } from './options.js'

/** A view of the calls and routes of a router, and its end. */
export interface RouterHandle {
  /** The number of charged calls in progress. */
  readonly inFlight: number
  /**
   * The number of holds of this router's calls that are neither settled nor released, including those of charges that
   * are being retried.
   */
  readonly openHolds: number
  /** Returns the charged calls that have not ended, newest first, even if their credential is not known yet. */
  calls(): readonly CallInFlight[]
  /** Returns the recent health of each route that was called. */
  routes(): readonly RouteHealth[]
  /**
   * Frees the holds that have expired, since their calls were cut off before they could be charged, and reports each by a
   * `hold-expired` event. The router does so itself every 30 seconds. On Workers it cannot: call this from a cron trigger.
   */
  sweep(): Promise<{ expired: number }>
  /**
   * Refuses new calls, waits at most `graceMs` (10 s by default) for running ones, stops and charges the rest, and
   * waits until every charge is posted or reported as failed. Does not close the host's stores and adapters.
   *
   * Of the running calls, `drained` ended by themselves and `aborted` were stopped. A repeat returns the same result.
   * With `Infinity` it waits for as long as the calls take. Rejects with an `OptionsError`, and closes nothing, if
   * `graceMs` is not a number of at least 0 or another option is given. The signal name that a signal listener receives
   * is ignored.
   */
  close(options?: { graceMs?: number }): Promise<{ drained: number; aborted: number }>
}

/** Everything of a router but the room of its host. */
export interface Assembled {
  readonly endpoints: readonly Endpoint[]
  readonly host: HttpHandlerOptions
  /** Gives a host's handler the members of a {@link RouterHandle}. */
  withHandle<Handler extends (...given: never[]) => unknown>(handler: Handler): Handler & RouterHandle
}

const BODY_CONSUMED =
  'Another middleware has read the request body without keeping it in req.body. Mount compat-router before it, or pass on what it read: ' +
  "request.raw.body = request.body behind Fastify's parsers, ctx.req.body = ctx.request.body behind Koa's, c.env.incoming.body = await c.req.json() in Hono."

/** Reads the options and makes what they name. Throws as `createCompatRouter` does. */
export function assemble(options: RouterOptions | StoredRouterOptions): Assembled {
  const checked = engineOptions(options)
  const { clock, emit, fastPaths, newId, sizes, timeouts } = checked
  const recall = recallBounds(options.responses)
  const engine = createEngine(checked)
  const recent = recall && new RecentItems(recall, clock, engine.memory)
  const endpoints = createEndpoints(engine, {
    hasOpenApi: options.openapi !== false,
    hasPublicModels: options.publicModels === true,
    recent,
  })
  let hasWarned = false
  const host: HttpHandlerOptions = {
    timeouts,
    sizes,
    memory: engine.memory,
    clock,
    newId,
    turns: new TurnGate(fastPaths.turns),
    fastPaths,
    isClosing: engine.isClosing,
    ...(options.basePath !== undefined && { basePath: options.basePath }),
    ...(options.resourceMetadata !== undefined && { resourceMetadata: options.resourceMetadata }),
    onUnstripped(mount) {
      if (hasWarned) return
      hasWarned = true
      process.emitWarning(
        `compat-router answered a request under ${JSON.stringify(mount)} with 404, because nothing stripped that part of its path. If it is the mount path, as on bare http, set basePath to it.`,
        { code: 'COMPAT_ROUTER_BASE_PATH' },
      )
    },
    onFault: (where, error, requestId) =>
      emit({ type: 'fault', where, error: eventError(error), ...(requestId !== undefined && { requestId }) }),
    onBodyConsumed: (requestId) => emit({ type: 'body-consumed', requestId, hint: BODY_CONSUMED }),
  }
  return {
    endpoints,
    host,
    withHandle: (handler) =>
      Object.defineProperties(handler as typeof handler & RouterHandle, {
        inFlight: { get: () => engine.inFlight },
        openHolds: { get: () => engine.openHolds },
        calls: { value: engine.calls },
        routes: { value: engine.routes },
        sweep: { value: engine.sweep },
        close: {
          async value(asked?: { graceMs?: number }) {
            const ended = await engine.close(asked)
            recent?.clear()
            return ended
          },
        },
      }),
  }
}
