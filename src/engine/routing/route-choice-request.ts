import type { Model } from '../../contracts/catalogue.js'
import type { Route } from '../../contracts/providers.js'
import type { ParsedChatRequest } from '../../protocol/chat-request.js'

export interface RouteChoiceRequest {
  readonly routes: readonly Route[]
  readonly model: Model
  readonly request: ParsedChatRequest
  readonly account: string
  /** Spreads calls that belong to no session. Another one for each call, and not of the client's making. */
  readonly spreadKey: () => string
  /** How long the prompt is at most. Asked for where prices depend on it. */
  readonly promptTokens: () => number
}

/** Leaves out the routes that are not wanted, and notes why. */
export type Keep = (
  routes: readonly Route[],
  why: string,
  wanted: (route: Route) => boolean,
) => readonly Route[]
