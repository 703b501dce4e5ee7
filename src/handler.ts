import { assemble, type RouterHandle } from './assemble.js'
import { createFetchHandler, type FetchHandler } from './fetch/index.js'
import type { RouterOptions, StoredRouterOptions } from './options.js'

export type { RouterHandle } from './assemble.js'
export {
  type FetchHandler,
  type HandlerInfo,
  type RouteHandlers,
  type RouteInfo,
  routeHandlers,
} from './fetch/index.js'

/**
 * Answers a web `Request` with a `Response`, for hosts such as Hono, Next.js, Bun and Deno. It rejects only with a
 * `TypeError`, if it was given something else than a `Request`.
 */
export interface CompatHandler extends FetchHandler, RouterHandle {}

/**
 * Creates an OpenAI-compatible endpoint that charges each reply exactly, as `createCompatRouter` does and with the same
 * options, for hosts that pass on a web `Request`. Set `basePath` unless the host strips the mount path from the URL.
 */
export function createCompatHandler(options: RouterOptions | StoredRouterOptions): CompatHandler {
  const { endpoints, host, withHandle } = assemble(options)
  return withHandle(createFetchHandler(endpoints, host))
}
