import type { IncomingCall, ReplyWriter } from '../contracts/reply.js'

/** What answers a request once its route is known. None of them rejects: a fault is an answer too. */
export interface Endpoints {
  chatCompletions(call: IncomingCall, writer: ReplyWriter): Promise<void>
  listModels(call: IncomingCall, writer: ReplyWriter): Promise<void>
  /** `key` is all that stands after `/models/`, up to `?` or `#`, not decoded. */
  getModel(call: IncomingCall, key: string, writer: ReplyWriter): Promise<void>
  envelopeKeys(call: IncomingCall, writer: ReplyWriter): Promise<void>
  openapi(writer: ReplyWriter): Promise<void>
}
