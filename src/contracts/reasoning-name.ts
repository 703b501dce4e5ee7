import type { Principal } from './credentials.js'

/** The field in which a client gets the model's reasoning. `both` sends the same text in two fields. */
export type ReasoningName = 'reasoning_content' | 'reasoning' | 'both'

/** The client that reads a reply. */
export interface ReplyReader {
  readonly principal: Principal
  /** The header `user-agent` of its request. */
  readonly userAgent: string | undefined
}

/** Chooses the field for one request. With `undefined` the router chooses. A throw fails the request with 500. */
export type ReasoningNaming = (reader: ReplyReader) => ReasoningName | undefined
