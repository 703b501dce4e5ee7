import type { MarkupTerms } from '../../base/prices.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Asked, Operation, Plan } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'

export interface RouteChoiceRequest {
  readonly routes: readonly Route[]
  readonly model: Model
  readonly operation: Operation
  readonly asked: Asked
  readonly plan: Plan
  readonly account: string
  /** What the caller's app adds to every price. */
  readonly markup: MarkupTerms
  /** Spreads calls without a session. A new key for each call, and not one that the client can choose. */
  readonly spreadKey: () => string
}

/** Removes the unwanted routes and notes why. */
export type Keep = (
  routes: readonly Route[],
  why: string | ((route: Route) => string),
  wanted: (route: Route) => boolean,
) => readonly Route[]
