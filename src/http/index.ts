export type { Endpoints } from './endpoints.js'
export { createHttpHandler, type HttpHandlerOptions } from './handler.js'
