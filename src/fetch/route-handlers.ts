import type { FetchHandler, HandlerInfo } from './handler.js'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** A function for each method, which some frameworks call routes. */
export type RouteHandlers = Readonly<
  Record<(typeof METHODS)[number], (request: Request) => Promise<Response>>
>

/**
 * Returns a handler as one function for each method, for frameworks that ask for them by name, such as Next.js. `info`
 * goes with each request.
 */
export function routeHandlers(
  handler: FetchHandler,
  info: Pick<HandlerInfo, 'signal' | 'waitUntil'> = {},
): RouteHandlers {
  const handle = (request: Request): Promise<Response> => handler(request, info)
  return Object.fromEntries(METHODS.map((method) => [method, handle])) as RouteHandlers
}
