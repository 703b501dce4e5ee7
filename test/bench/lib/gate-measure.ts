import type { GateRow, GateSystem } from './gate-rows.js'
import { type Figure, isNarrow, judgeFigure, readFigure, type Verdict } from './gate-verdict.js'
import { medianInterval } from './interval.js'
import { jobFor, warmUp } from './measure.js'
import type { CpuUsage, LoadResult } from './messages.js'
import type { Program } from './program.js'
import { findSystems, type Target } from './systems.js'

export interface GateSettings {
  readonly sliceMs: number
  readonly longestMs: number
  /** How many processes of a build take turns, because two of one build differ by up to some per cent. */
  readonly processes: number
  readonly dist: string
  /** What today's build is compared with. */
  readonly baseline: { readonly dist: string; readonly isBaseline: boolean }
}

export interface RowResult {
  readonly row: GateRow
  readonly verdict: Verdict
  readonly figure: Figure
  readonly blocks: number
  /** The figure to the pipe, without a budget. Undefined beside a database. */
  readonly toPipe: number | undefined
  /** The medians of what was measured, by system. */
  readonly own: Readonly<Partial<Record<GateSystem, number>>>
  /** The CPU a request of the database. */
  readonly databaseMicroseconds: number
}

interface Slice {
  readonly value: number
  readonly databaseMicroseconds: number
}

const WARM_UP_MS = 1_000

/** Measures one row until its interval is narrow, or time is over. */
export async function measureRow(
  row: GateRow,
  settings: GateSettings,
  upstream: Program,
  load: Program,
): Promise<RowResult> {
  const running = new Map<GateSystem, Target[]>()
  try {
    await startAll(systemsOf(row), settings, upstream, running)
    for (const target of [...running.values()].flat()) await warmUp(row.load, target, load, WARM_UP_MS)
    return await measureBlocks(row, settings, running, load)
  } finally {
    for (const target of [...running.values()].flat()) await target.stop()
  }
}

function systemsOf({ system, reference }: GateRow): GateSystem[] {
  const systems: GateSystem[] = [reference, system]
  return systems.includes('baseline') ? ['pipe', ...systems] : systems
}

/** Adds each system to `running` as it starts, so that all of them can be stopped if one does not. */
async function startAll(
  names: readonly GateSystem[],
  { baseline, dist, processes }: GateSettings,
  upstream: Program,
  running: Map<GateSystem, Target[]>,
): Promise<void> {
  const [earlier] = await findSystems(['http'], baseline)
  // Systems on databases share a process, so they are found together.
  const found = await findSystems(
    names.map((name) => (isBuild(name) ? 'http' : name)),
    { dist },
  )
  for (const [index, name] of names.entries()) {
    const targets: Target[] = []
    running.set(name, targets)
    for (let number = 0; number < (isBuild(name) ? processes : 1); number++) {
      const isEarlier = name === 'baseline'
      const system = isEarlier ? earlier! : found[index]!
      targets.push(await system.start(upstream, { isBaseline: isEarlier && baseline.isBaseline }))
    }
  }
}

function isBuild(name: GateSystem): boolean {
  return name === 'baseline' || name === 'today'
}

async function measureBlocks(
  row: GateRow,
  { longestMs, sliceMs }: GateSettings,
  running: ReadonlyMap<GateSystem, readonly Target[]>,
  load: Program,
): Promise<RowResult> {
  const until = performance.now() + longestMs
  const values: number[] = []
  const scales: number[] = []
  const samples = new Map<GateSystem, number[]>([...running.keys()].map((name) => [name, []]))
  const database: number[] = []
  let figure = readFigure([])
  const slice = async (name: GateSystem, block: number): Promise<number> => {
    const { value, databaseMicroseconds } = await measureSlice(
      row,
      chosen(running.get(name)!, name, block),
      load,
      sliceMs,
    )
    samples.get(name)!.push(value)
    if (name === row.system) database.push(databaseMicroseconds)
    return value
  }
  do {
    const block = values.length
    if (running.has('pipe') && row.reference !== 'pipe') await slice('pipe', block)
    // A B B A, and B A A B: what changes evenly with time is the same for both.
    const [outer, inner] = block % 2 === 0 ? [row.reference, row.system] : [row.system, row.reference]
    const [first, second, third, fourth] = [
      await slice(outer, block),
      await slice(inner, block),
      await slice(inner, block),
      await slice(outer, block),
    ]
    const [one, other] = [(first + fourth) / 2, (second + third) / 2]
    const [system, reference] = inner === row.system ? [other, one] : [one, other]
    values.push(row.by === 'ratio' ? system / reference : system - reference)
    scales.push(system)
    figure = readFigure(values, row.by === 'ratio' ? undefined : scales)
  } while (performance.now() < until && !isNarrow(figure, values.length))
  const own = Object.fromEntries([...samples].map(([name, all]) => [name, medianInterval(all).median]))
  return {
    row,
    figure,
    blocks: values.length,
    verdict: judgeFigure(figure, values.length, row.budget),
    own,
    toPipe: own.pipe === undefined ? undefined : own[row.system]! / own.pipe,
    databaseMicroseconds: medianInterval(database).median,
  }
}

/** Each process of a build meets each of the other in turn. */
function chosen(targets: readonly Target[], name: GateSystem, block: number): Target {
  const turn = name === 'today' ? block + Math.floor(block / targets.length) : block
  return targets[turn % targets.length]!
}

async function measureSlice(
  { figure, load: scenario }: GateRow,
  target: Target,
  load: Program,
  sliceMs: number,
): Promise<Slice> {
  const before = await target.program.ask<CpuUsage>({ kind: 'usage' })
  const result = await load.ask<LoadResult>({ ...jobFor(scenario, target, sliceMs), warmMs: 0 })
  const after = await target.program.ask<CpuUsage>({ kind: 'usage' })
  if (result.errors > 0) throw new Error(`${target.name}: ${result.errors} errors: ${result.firstError}`)
  const isStream = (scenario.answer.events ?? 0) > 0
  const units = isStream ? result.all.events : result.all.replies
  const each = (one: number, other: number): number => (other - one) / units
  return {
    value:
      figure === 'firstEventMs' ? result.firstEventMs.p50 : each(before.microseconds, after.microseconds),
    databaseMicroseconds: each(before.databaseMicroseconds, after.databaseMicroseconds),
  }
}
