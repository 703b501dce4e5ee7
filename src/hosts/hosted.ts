import type { CompatError } from '../base/errors.js'
import type { IncomingCall, ReplyWriter } from '../contracts/reply.js'

/** Headers of a reply, to which a host's room adds its own. */
export type ReplyHeaders = Record<string, string>

/** A request as every host has it. */
export interface HostedCall extends IncomingCall {
  readonly method: string
  /** The request target as the client sent it. A mount may have stripped a part of it before the router got it. */
  readonly wholeTarget: string
  /** Whether the host has stripped a part of the target. */
  readonly isStripped: boolean
  /**
   * Holds the body back until it is read. Returns false if it already flows to somebody else: then it must be read at
   * once, or it is lost.
   */
  keepBody(): boolean
}

/** A reply as every host can send it. */
export interface HostedReply extends ReplyWriter {
  /** Whether a middleware of the host has decided which pages may read the reply. */
  readonly isOriginDecided: boolean
  sendError(error: CompatError): void
  /** Answers 204, which has no body and therefore no content headers. */
  sendNoContent(headers: Readonly<ReplyHeaders>): void
  /** Answers a fault of the server: with an error if nothing has been sent, otherwise by dropping the client. */
  fail(error: CompatError): void
  /** Ends the reply if it cannot even fail. */
  destroy(): void
  /** Called when everything has been done for the call, including its charge. */
  readonly onDone?: (() => void) | undefined
}
