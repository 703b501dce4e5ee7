/** `npm run bench:growth`: the cost of a call as data grows. See README.md. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { choose, readNames, readNumber, runMain, say } from './lib/arguments.js'
import { chatBody, eventsOf } from './lib/chat-body.js'
import { ENGINES, type EngineName, historyTable, measureHistory } from './lib/history.js'
import { describeMachine, machineLine } from './lib/machine.js'
import type { LoadJob, LoadResult } from './lib/messages.js'
import { modelOf, tokenOf } from './lib/names.js'
import { type Program, programCommand, startProgram } from './lib/program.js'
import { format, formatSpread } from './lib/report.js'
import { ratios, spreadOf } from './lib/statistics.js'
import { untilSteady } from './lib/steady.js'
import { findSystems, type SystemOptions, type Target } from './lib/systems.js'
import { markdownTable } from './lib/table.js'

/** Something that grows, and the unit whose cost should stay constant. */
interface Dimension {
  readonly name: string
  readonly title: string
  readonly unit: string
  readonly sizes: readonly number[]
  /** The options for the process. */
  readonly system: (size: number) => SystemOptions
  /** The requests sent in turn, and the number of events in a reply. */
  readonly load: (size: number) => Pick<LoadJob, 'requests'> & { readonly events?: number }
  readonly connections: number
  /** The number of units in a reply. */
  readonly units: (size: number) => number
}

const HELP = `npm run bench:growth -- [options]

  --scenario NAMES   models, keys, holds, prompt, stream, history (all)
  --rounds N         5
  --seconds N        2, for each size and round
  --json FILE        test/bench/results/growth.json
  --dist DIR         dist: the folder of the built package
  --charges NUMBERS  10000,300000: the sizes of the history; 1000000 and 10000000 need 1 and 10 GB
  --engines NAMES    postgres,sqlite: those of the history
  --folder DIR       keeps filled databases in DIR for the next run, for as long as the schema does not change
`

/** Calls are spread over this many of the models or keys. */
const SPREAD = 64
/** A step that raises the cost of a unit by more than this is marked. */
const TOLERANCE = 1.25
const CALLERS = 50

function spread(size: number): number[] {
  const count = Math.min(SPREAD, size)
  return Array.from({ length: count }, (_, number) => Math.floor((number * size) / count))
}

const one = { token: tokenOf(0) }
const once = (): number => 1

const DIMENSIONS: readonly Dimension[] = [
  {
    name: 'models',
    title: 'Models in the catalogue',
    unit: 'request',
    sizes: [10, 100, 1_000, 10_000],
    system: (models) => ({ models }),
    load: (size) => ({
      requests: spread(size).map((number) => ({ ...one, body: chatBody(modelOf(number), {}) })),
    }),
    connections: CALLERS,
    units: once,
  },
  {
    name: 'keys',
    title: 'API keys',
    unit: 'request',
    sizes: [10, 1_000, 100_000, 1_000_000],
    system: (keys) => ({ keys }),
    load: (size) => ({
      requests: Array.from({ length: Math.min(SPREAD, size) }, (_, number) => ({
        token: tokenOf(number),
        body: chatBody(modelOf(0), {}),
      })),
    }),
    connections: CALLERS,
    units: once,
  },
  {
    name: 'holds',
    title: 'Holds open in the ledger',
    unit: 'request',
    sizes: [0, 1_000, 10_000, 100_000],
    system: (openHolds) => ({ openHolds, ledger: 'memory' }),
    load: () => ({ requests: [{ ...one, body: chatBody(modelOf(0), {}) }] }),
    connections: CALLERS,
    units: once,
  },
  {
    name: 'prompt',
    title: 'Bytes of prompt',
    unit: 'KB of prompt',
    sizes: [10_000, 100_000, 1_000_000],
    system: () => ({}),
    load: (size) => ({ requests: [{ ...one, body: chatBody(modelOf(0), {}, size) }] }),
    connections: 10,
    units: (size) => size / 1_000,
  },
  {
    name: 'stream',
    title: 'Events of a stream',
    unit: 'event',
    sizes: [100, 1_000, 10_000],
    system: () => ({}),
    load: (size) => ({ requests: [{ ...one, body: chatBody(modelOf(0), { events: size }) }], events: size }),
    connections: 10,
    units: (size) => eventsOf({ events: size }),
  },
]

const HISTORY = { name: 'history' } as const

interface Measured {
  readonly size: number
  /** Microseconds of CPU for each unit, by round. */
  readonly cost: readonly number[]
  readonly errors: number
}

interface Step {
  readonly size: number
  readonly target: Target
  readonly cost: number[]
  errors: number
}

async function measure(
  dimension: Dimension,
  dist: string,
  rounds: number,
  measureMs: number,
  { upstream, load }: { upstream: Program; load: Program },
): Promise<Measured[]> {
  const [http] = await findSystems(['http'], { dist })
  const running: Step[] = []
  const costOf = async (step: Step): Promise<number> => {
    const { size, target } = step
    const job = jobFor(dimension, size, target, measureMs)
    const { replies, events, errors, firstError, cpuSeconds } = await load.ask<LoadResult>(job)
    step.errors += errors
    const units = job.expect.events === undefined ? replies * dimension.units(size) : events
    const cost = (cpuSeconds / units) * 1e6
    const broken = errors === 0 ? '' : `, ${errors} errors: ${firstError}`
    say(`  ${size}: ${format(cost, 2)} µs/${dimension.unit}${broken}`)
    return cost
  }
  try {
    for (const size of dimension.sizes) {
      const options = { ledger: 'rotating', ...dimension.system(size) } as const
      running.push({ size, target: await http!.start(upstream, options), cost: [], errors: 0 })
    }
    for (const step of running) await untilSteady(() => costOf(step))
    for (let round = 0; round < rounds; round++) {
      for (const step of running) step.cost.push(await costOf(step))
    }
  } finally {
    for (const { target } of running) await target.stop()
  }
  return running.map(({ size, cost, errors }) => ({ size, cost, errors }))
}

function jobFor(dimension: Dimension, size: number, target: Target, measureMs: number): LoadJob {
  const { requests, events } = dimension.load(size)
  return {
    port: target.port,
    path: target.path,
    headers: target.headers,
    requests,
    connections: dimension.connections,
    rampMs: 0,
    warmMs: 300,
    measureMs,
    reader: 'eager',
    expect: { status: 200, ...(events !== undefined && { events: eventsOf({ events }) }) },
    finish: true,
    processId: target.program.processId,
  }
}

function growthTable({ title, unit }: Dimension, measured: readonly Measured[]): string {
  const rows = measured.map(({ size, cost, errors }, position) => {
    const first = spreadOf(ratios(cost, measured[0]!.cost))
    const step = spreadOf(ratios(cost, measured[Math.max(0, position - 1)]!.cost))
    return [
      format(size, 0),
      format(spreadOf(cost).median, 2),
      formatSpread(first, 2),
      formatSpread(step, 2),
      step.median > TOLERANCE ? 'GROWS' : '',
      String(errors),
    ]
  })
  return markdownTable([title, `CPU µs/${unit}`, 'to the smallest', 'to the one before', '', 'errors'], rows)
}

/** Prints how long the questions about a history take, by its size. */
async function growHistory(
  dist: string,
  charges: string,
  engineNames: string,
  folder: string | undefined,
): Promise<Record<string, unknown>> {
  const sizes = readNames(charges).map((text) => readNumber('charges', text, 1))
  const engines = choose(
    'engines',
    ENGINES.map((name) => ({ name })),
    engineNames,
  ).map(({ name }): EngineName => name)
  const found = await measureHistory({
    dist,
    engines,
    sizes,
    ...(folder !== undefined && { folder: resolve(folder) }),
  })
  for (const [engine, times] of found) {
    process.stdout.write(`### Charges in the history, on ${engine}\n\n${historyTable(sizes, times)}\n\n`)
  }
  return Object.fromEntries(
    [...found].map(([engine, times]) => [engine, times.map((own) => Object.fromEntries(own))]),
  )
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      scenario: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      json: { type: 'string', default: 'test/bench/results/growth.json' },
      dist: { type: 'string', default: 'dist' },
      charges: { type: 'string', default: '10000,300000' },
      engines: { type: 'string', default: ENGINES.join(',') },
      folder: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  const scenarios = choose('scenario', [...DIMENSIONS, HISTORY], values.scenario)
  const dimensions = DIMENSIONS.filter(({ name }) => scenarios.some((scenario) => scenario.name === name))
  const rounds = readNumber('rounds', values.rounds, 1)
  const measureMs = readNumber('seconds', values.seconds, 0.1) * 1_000
  const machine = describeMachine()
  process.stdout.write(`${machineLine(machine)} ${rounds} rounds of ${measureMs / 1_000} s.\n\n`)
  const results: Record<string, unknown> = {}
  if (scenarios.some(({ name }) => name === HISTORY.name)) {
    const { charges, engines, folder } = values
    results.history = await growHistory(resolve(values.dist), charges, engines, folder)
  }
  const upstream = await startProgram({ command: programCommand('upstream', {}), core: 'load' })
  const load = await startProgram({ command: programCommand('load', {}), core: 'load' })
  for (const dimension of dimensions) {
    say(dimension.name)
    const measured = await measure(dimension, resolve(values.dist), rounds, measureMs, { upstream, load })
    results[dimension.name] = measured
    process.stdout.write(`### ${dimension.title}\n\n${growthTable(dimension, measured)}\n\n`)
  }
  await Promise.all([upstream.stop(), load.stop()])
  const file = resolve(values.json)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ machine, rounds, measureMs, results }, undefined, 2)}\n`)
  say(`samples: ${file}`)
}

runMain(main)
