import type { OpenApiOperation } from './openapi.js'
import type { IncomingCall, ReplyWriter } from './reply.js'

/** Anything that a client can ask for: a method and a path below the mount, and the code that answers. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** May end with one parameter in braces, which then takes the rest of the path: `/models/{model_key}`. */
  readonly path: string
  /** Whether it is there for everybody, and may be cached. */
  readonly isPublic?: boolean
  /** Absent if the endpoint only refuses: the OpenAPI document and the 404 answer do not list it. */
  readonly openapi?: OpenApiOperation
  /**
   * Answers a request. Never rejects: a fault is an answer too.
   *
   * @param parameter the rest of the path, neither cut nor decoded; empty if the path has no parameter
   */
  answer(call: IncomingCall, writer: ReplyWriter, parameter: string): Promise<void>
}
