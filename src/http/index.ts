export { createHttpHandler, type HttpHandlerOptions } from './handler.js'
