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
  /** Spreads calls that belong to no session. Another one for each call, and not of the client's making. */
  readonly spreadKey: () => string
}

/** Leaves out the routes that are not wanted, and notes why. */
export type Keep = (
  routes: readonly Route[],
  why: string,
  wanted: (route: Route) => boolean,
) => readonly Route[]
