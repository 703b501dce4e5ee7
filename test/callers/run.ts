import { type CallPlan, controlPlans, makePlan, makeSlowPlan } from './call-plan.js'
import { checkWorld, type Violation } from './check-world.js'
import type { HonestBody } from './honest-bodies.js'
import type { Plant } from './plants.js'
import { makeScenario, type Scenario } from './scenario.js'
import type { Servers } from './servers.js'
import { World } from './world.js'

export interface WorldResult {
  readonly seed: string
  readonly scenario: Scenario
  readonly calls: number
  readonly charged: number
  readonly violations: readonly Violation[]
  readonly plans: readonly CallPlan[]
  /** The events of the run, for a trace. */
  readonly notes: readonly string[]
}

/** All parts of a world, from a seed or reduced from another world. */
export interface WorldPlan {
  readonly scenario: Scenario
  readonly calls: readonly CallPlan[]
  readonly slow: readonly CallPlan[]
}

/** Calls of a world, without its controls. */
export const CALLS_A_WORLD = 60
const SLOW_CALLS = 5
/** One world in so many has calls that wait for the clock. */
const SLOW_WORLDS = 5

export function planWorld(seed: string, honest: readonly HonestBody[]): WorldPlan {
  const scenario = makeScenario(seed)
  const calls = Array.from({ length: CALLS_A_WORLD }, (_, index) => makePlan(scenario, index, honest))
  const isSlow = [...seed].reduce((sum, char) => sum + char.charCodeAt(0), 0) % SLOW_WORLDS === 0
  const slow = Array.from({ length: isSlow ? SLOW_CALLS : 0 }, (_, index) => makeSlowPlan(scenario, index))
  return { scenario, calls, slow }
}

/** Plays a world: its controls before, during and after all other calls. */
export async function runWorld(plan: WorldPlan, servers: Servers, plant?: Plant): Promise<WorldResult> {
  const { calls, scenario, slow } = plan
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', onUnhandled)
  const world = new World(scenario, servers, plant)
  const violations: Violation[] = []
  let health: ReturnType<World['health']> = []
  try {
    const controls = controlPlans(scenario)
    await world.make(controls)
    health = world.health()
    await world.make([...calls, ...controls])
    if (slow.length > 0) await world.makeSlowly(slow)
    await world.make(controls)
  } catch (error) {
    violations.push({ kind: 'stuck', call: 'the world', message: String(error) })
  } finally {
    await world.close().catch((error) => {
      violations.push({ kind: 'stuck', call: 'the world', message: String(error) })
    })
    process.off('unhandledRejection', onUnhandled)
  }
  violations.push(...checkWorld(world, health))
  for (const error of unhandled) {
    violations.push({ kind: 'unhandled-rejection', call: 'the world', message: String(error) })
  }
  return {
    seed: scenario.seed,
    scenario,
    calls: world.calls.length,
    charged: world.audit.settlements.size,
    violations,
    plans: [...calls, ...slow],
    notes: world.calls.map(describeCall),
  }
}

function describeCall({ arrivals, caller, plan }: World['calls'][number]): string {
  const bills = arrivals.map(({ bill, ended, provider, status }) =>
    [provider, status, ended, bill && `billed ${Number(bill.cost) / 1e9}`].filter(Boolean).join(' '),
  )
  const done = plan.done.length > 0 ? `, ${plan.done.join(', ')}` : ''
  return `${plan.name} ${plan.account} ${plan.leaving} ${plan.reply.kind}${done}: ${caller.status}; ${bills.join(' | ') || 'nothing arrived'}`
}
