import type { ErrorStyle } from '../protocol/error-body.js'
import type { OpenApiOperation } from './openapi.js'
import type { IncomingCall, ReplyWriter } from './reply.js'

/** One thing that a client can request: a method, a path below the mount, and the code that answers. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** May end with one parameter in braces, which matches the rest of the path: `/models/{model_key}`. */
  readonly path: string
  /** Whether it needs no credential and its answer may be cached. */
  readonly isPublic?: boolean
  /**
   * The shape of the errors at this path, even for other methods. All endpoints of a path have the same. OpenAI's by
   * default.
   */
  readonly errors?: ErrorStyle
  /** Absent if the endpoint only refuses: the OpenAPI document and the 404 answer do not list it. */
  readonly openapi?: OpenApiOperation
  /**
   * Answers a request. Never rejects: a fault is also answered.
   *
   * @param parameter the rest of the path, not decoded; empty if the path has no parameter
   */
  answer(call: IncomingCall, writer: ReplyWriter, parameter: string): Promise<void>
}
