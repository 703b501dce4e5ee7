import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { assemble, type RouterHandle } from './assemble.js'
import { createHttpHandler } from './http/index.js'
import type { RouterOptions, StoredRouterOptions } from './options.js'

/** Middleware for Express, Connect, bare `http` and `http2`, with a view of its calls and routes. */
export interface CompatRouter extends RouterHandle {
  /**
   * Answers a request. Returns nothing, and calls `next` only for paths outside of `basePath`. Throws only a `TypeError`,
   * if the second argument is not Node's response, as when the router is mounted as a handler of Koa or Hono.
   */
  (
    req: (IncomingMessage | Http2ServerRequest) & { body?: unknown },
    res: ServerResponse | Http2ServerResponse,
    next?: (error?: unknown) => void,
  ): void
}

/**
 * Creates an OpenAI-compatible endpoint that charges each reply exactly.
 *
 * Mount it with `app.use('/compat/v1', createCompatRouter({ credentials, catalogue, ledger, providers }))`, or with `stores`. Throws a
 * `TypeError` that names the missing option or method.
 */
export function createCompatRouter(options: RouterOptions | StoredRouterOptions): CompatRouter {
  const { endpoints, host, withHandle } = assemble(options)
  // HTTP/2 requests and responses have every member that is used here, although Node's types do not say so.
  return withHandle(createHttpHandler(endpoints, host)) as CompatRouter
}
