import type { ScenarioReport } from './report.js'
import type { Metric } from './scenarios.js'
import { median } from './statistics.js'

/** The goals of a figure: the floor is required, the aim is desirable. */
export interface Goal {
  readonly what: string
  readonly scenario: string
  readonly metric: Metric
  /** The ratio of `http` to this system, or the value of `http` if there is nothing to compare with. */
  readonly against?: { readonly system: string; readonly by: 'ratio' | 'difference' }
  readonly better: 'higher' | 'lower'
  readonly floor: number
  readonly aim?: number
}

const LIMIT = { system: 'pipe', by: 'ratio' } as const
const PEER = { system: 'portkey', by: 'ratio' } as const
const MEASURED = 'http'

export const GOALS: readonly Goal[] = [
  rate('JSON, 50 at once, requests/s to the limit', 'json-50', 0.45, 0.6),
  rate('JSON, 1 at a time, requests/s to the limit', 'json-1', 0.7, 0.8),
  rate('streams, one event a segment, events/s to the limit', 'segments', 0.95),
  rate('streams as fast as possible, events/s to the limit', 'burst', 0.55, 0.7),
  {
    what: 'paced streams, CPU an event to the limit',
    scenario: 'paced',
    metric: 'cpuMicroseconds',
    against: LIMIT,
    better: 'lower',
    floor: 1.3,
    aim: 1.2,
  },
  {
    what: 'first event, ms over the limit',
    scenario: 'first-token',
    metric: 'p50Ms',
    against: { system: 'pipe', by: 'difference' },
    better: 'lower',
    floor: 0.2,
  },
  {
    what: 'memory, KiB an open stream',
    scenario: 'memory-open',
    metric: 'kibibytesEach',
    better: 'lower',
    floor: 60,
  },
  { ...rate('JSON, 50 at once, requests/s to Portkey', 'json-50', 10), against: PEER },
  { ...rate('streams as fast as possible, events/s to Portkey', 'burst', 2.5), against: PEER },
]

function rate(what: string, scenario: string, floor: number, aim?: number): Goal {
  const common = { what, scenario, metric: 'rate', against: LIMIT, better: 'higher', floor } as const
  return aim === undefined ? common : { ...common, aim }
}

export interface Verdict {
  readonly goal: Goal
  readonly value: number
  readonly verdict: 'aim reached' | 'floor held' | 'MISSED'
}

/** Compares the measurements with the goals, without those that were not measured. */
export function judge(reports: readonly ScenarioReport[]): Verdict[] {
  return GOALS.flatMap((goal) => {
    const samples = reports.find(({ scenario }) => scenario === goal.scenario)?.samples
    const own = samples?.[MEASURED]?.map((sample) => sample[goal.metric])
    if (own === undefined) return []
    let values = own
    if (goal.against !== undefined) {
      const others = samples?.[goal.against.system]?.map((sample) => sample[goal.metric])
      if (others === undefined) return []
      const { by } = goal.against
      values = own.map((value, round) => (by === 'ratio' ? value / others[round]! : value - others[round]!))
    }
    // A system that served nothing is no measure.
    if (!values.every(Number.isFinite)) return []
    const value = median(values)
    const reaches = (mark: number): boolean => (goal.better === 'higher' ? value >= mark : value <= mark)
    const verdict = reaches(goal.aim ?? goal.floor)
      ? 'aim reached'
      : reaches(goal.floor)
        ? 'floor held'
        : 'MISSED'
    return [{ goal, value, verdict }]
  })
}
