import type { Principal } from './credentials.js'

/** The field in which a client gets the model's reasoning. `both` sends the same text in two fields. */
export type ReasoningName = 'reasoning_content' | 'reasoning' | 'both'

const NAMES: ReadonlySet<unknown> = new Set<ReasoningName>(['reasoning_content', 'reasoning', 'both'])

export const REASONING_NAMES = [...NAMES].map((name) => `'${name}'`).join(', ')

export function isReasoningName(value: unknown): value is ReasoningName {
  return NAMES.has(value)
}

/** The client that reads a reply. */
export interface ReplyReader {
  readonly principal: Principal
  /** The header `user-agent` of its request. */
  readonly userAgent: string | undefined
}

/** Chooses the field for one request. With `undefined` the router chooses. A throw fails the request with 500. */
export type ReasoningNaming = (reader: ReplyReader) => ReasoningName | undefined
