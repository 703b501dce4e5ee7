export { createFetchHandler, type FetchHandler, type HandlerInfo } from './handler.js'
export { type RouteHandlers, routeHandlers } from './route-handlers.js'
