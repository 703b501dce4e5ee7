import type { ProviderAdapter, RouterOptions } from 'compat-router'
import type { CallPlan } from './call-plan.js'
import type { World } from './world.js'

/** A hole put in on purpose, to see that the fuzzer finds it. */
export interface Plant {
  readonly name: string
  readonly options?: (options: RouterOptions, world: World) => RouterOptions
  readonly adapter?: (adapter: ProviderAdapter, world: World) => ProviderAdapter
  /** Changes a request on its last step to the provider. */
  readonly arrives?: (text: string, plan: CallPlan, world: World) => string | undefined
}

export const PLANTS: readonly Plant[] = []
