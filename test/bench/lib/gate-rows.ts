import { SCENARIOS, type Scenario } from './scenarios.js'

/** The systems of the gate. Of a build, several processes run, because two processes of one build differ. */
export type GateSystem = 'pipe' | 'baseline' | 'today' | 'on-memory' | 'on-sqlite' | 'on-postgres'

/** One figure that has a budget: how a system compares with another one in the same run. */
export interface GateRow {
  readonly name: string
  readonly title: string
  readonly load: Scenario
  readonly system: GateSystem
  readonly reference: GateSystem
  readonly figure: 'cpuMicroseconds' | 'firstEventMs'
  readonly by: 'ratio' | 'difference'
  /** The most that the figure may be. */
  readonly budget: number
  readonly unit: string
}

const SLICE_RAMP_MS = 200
const EVENTS = 50

function load(name: string, more: Partial<Scenario> = {}): Scenario {
  return { ...SCENARIOS.find((scenario) => scenario.name === name)!, ...more }
}

const CPU_TO_BASELINE = {
  system: 'today',
  reference: 'baseline',
  figure: 'cpuMicroseconds',
  by: 'ratio',
} as const

const CPU_OVER_MEMORY = {
  load: load('json-50'),
  reference: 'on-memory',
  figure: 'cpuMicroseconds',
  by: 'difference',
  unit: 'µs a request',
} as const

const REQUEST = 'times the CPU a request of the earlier build'
const EVENT = 'times the CPU an event of the earlier build'

export const GATE_ROWS: readonly GateRow[] = [
  {
    ...CPU_TO_BASELINE,
    name: 'json-50',
    title: 'JSON, 50 at once',
    load: load('json-50'),
    budget: 1.08,
    unit: REQUEST,
  },
  {
    ...CPU_TO_BASELINE,
    name: 'json-1',
    title: 'JSON, one at a time',
    load: load('json-1'),
    budget: 1.1,
    unit: REQUEST,
  },
  {
    ...CPU_TO_BASELINE,
    name: 'paced',
    title: 'streams, an event every 20 ms, 200 at once',
    // Short streams, so that a slice has whole ones.
    load: load('paced', { answer: { events: EVENTS, paceMs: 20 }, rampMs: SLICE_RAMP_MS }),
    budget: 1.03,
    unit: EVENT,
  },
  {
    ...CPU_TO_BASELINE,
    name: 'burst',
    title: 'streams as fast as possible',
    load: load('burst'),
    budget: 1,
    unit: EVENT,
  },
  {
    name: 'first-event',
    title: 'first event of a stream',
    load: load('first-token'),
    system: 'today',
    reference: 'pipe',
    figure: 'firstEventMs',
    by: 'difference',
    budget: 0.2,
    unit: 'ms over the pipe',
  },
  { ...CPU_OVER_MEMORY, name: 'sqlite', title: 'SQLite over memory', system: 'on-sqlite', budget: 25 },
  {
    ...CPU_OVER_MEMORY,
    name: 'postgres',
    title: 'PostgreSQL over memory',
    system: 'on-postgres',
    budget: 35,
  },
]

/** What `.ci/run` asks: whether anything became much dearer. */
export const SHORT_ROWS: readonly GateRow[] = GATE_ROWS.filter(({ name }) =>
  ['json-50', 'burst'].includes(name),
).map((row) => ({ ...row, budget: 1.25 }))
