export { createFetchHandler, type FetchHandler, type HandlerInfo } from './handler.js'
export { type RouteHandlers, type RouteInfo, routeHandlers } from './route-handlers.js'
