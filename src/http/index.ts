export type { Endpoints } from './endpoints.js'
export { createHttpHandler, type HttpHandler, type HttpHandlerOptions } from './handler.js'
