import { z } from 'zod'
import { functionSchema, optionsSchema, readOptions } from '../rules/read-options.js'
import type { FetchHandler, HandlerInfo } from './handler.js'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** A function for each method, which some frameworks call routes. */
export type RouteHandlers = Readonly<
  Record<(typeof METHODS)[number], (request: Request) => Promise<Response>>
>

/** What the host passes with each request. */
export type RouteInfo = Pick<HandlerInfo, 'signal' | 'waitUntil'>

const handlerSchema = functionSchema<FetchHandler>('of createCompatHandler')
const infoSchema = optionsSchema<RouteInfo>({
  signal: z.literal(false).optional(),
  waitUntil: functionSchema<NonNullable<RouteInfo['waitUntil']>>().optional(),
})

/**
 * Returns a handler as one function for each method, for frameworks that ask for them by name, such as Next.js. `info`
 * goes with each request.
 */
export function routeHandlers(handler: FetchHandler, info: RouteInfo = {}): RouteHandlers {
  readOptions(handlerSchema, handler, 'routeHandlers', { field: 'handler' })
  const options = readOptions(infoSchema, info, 'routeHandlers')
  const handle = (request: Request): Promise<Response> => handler(request, options)
  return Object.fromEntries(METHODS.map((method) => [method, handle])) as RouteHandlers
}
