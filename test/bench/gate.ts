/** `npm run bench:gate`: today's build compared with an earlier one, by budgets. See README.md. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { choose, readNumber, runMain, say } from './lib/arguments.js'
import { installBaseline } from './lib/baseline.js'
import { type Counts, countCall } from './lib/call-counts.js'
import { type GateSettings, measureRow, type RowResult } from './lib/gate-measure.js'
import { GATE_ROWS, type GateRow, SHORT_ROWS } from './lib/gate-rows.js'
import { judgeTwice } from './lib/gate-verdict.js'
import { describeMachine, machineLine } from './lib/machine.js'
import { type Program, programCommand, startProgram } from './lib/program.js'
import { type JudgedCount, judgeCounts, readRecord, writeRecord } from './lib/recorded-counts.js'
import { format } from './lib/report.js'
import { plainSetup } from './lib/systems.js'
import { markdownTable } from './lib/table.js'

const HELP = `npm run bench:gate -- [options]

  --row NAMES        ${GATE_ROWS.map(({ name }) => name).join(', ')} (all)
  --short            counts of a call, and two rows with a wide budget: less than two minutes
  --against DIR      another build instead of the earlier one; dist compares today's with itself
  --dist DIR         dist: the folder of the built package
  --record           writes today's counts of a call for this version of Node, instead of the rest
  --minutes N        5, the most for a row
  --json FILE        test/bench/results/gate.json
`

const SLICE_MS = 2_000
const SHORT_SLICE_MS = 500
const SHORT_MS = 20_000

/** A figure of one process of a build would be that of the process. */
const PROCESSES = 3

interface Settings {
  readonly rows: readonly GateRow[]
  readonly isShort: boolean
  readonly isRecord: boolean
  readonly measure: GateSettings
  readonly jsonFile: string
  readonly against: string
}

async function readSettings(): Promise<Settings | undefined> {
  const { values } = parseArgs({
    options: {
      row: { type: 'string' },
      short: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
      against: { type: 'string' },
      dist: { type: 'string', default: 'dist' },
      minutes: { type: 'string', default: '5' },
      json: { type: 'string', default: 'test/bench/results/gate.json' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return undefined
  const { against, short } = values
  const earlier = against === undefined ? await installBaseline() : undefined
  return {
    rows: choose('row', short ? SHORT_ROWS : GATE_ROWS, values.row),
    isShort: short,
    isRecord: values.record,
    measure: {
      sliceMs: short ? SHORT_SLICE_MS : SLICE_MS,
      longestMs: short ? SHORT_MS : readNumber('minutes', values.minutes, 0) * 60_000,
      processes: short ? 1 : PROCESSES,
      dist: resolve(values.dist),
      baseline: { dist: earlier?.dist ?? resolve(against!), isBaseline: earlier !== undefined },
    },
    jsonFile: resolve(values.json),
    against: earlier?.commit ?? against!,
  }
}

function resultTable(results: readonly RowResult[]): string {
  return markdownTable(
    ['', 'measured', '95 % of', 'budget', '', 'to the pipe', 'database µs', 'blocks', 'verdict'],
    results.map(({ row, figure, blocks, toPipe, databaseMicroseconds, verdict }) => [
      row.title,
      format(figure.interval.median, 3),
      `${format(figure.interval.low, 3)} to ${format(figure.interval.high, 3)}`,
      `≤ ${row.budget}`,
      row.unit,
      toPipe === undefined ? '' : format(toPipe, 2),
      row.reference === 'on-memory' ? format(databaseMicroseconds, 1) : '',
      String(blocks),
      verdict,
    ]),
  )
}

async function countToday({ measure }: Settings, upstream: Program, load: Program): Promise<Counts> {
  say('counting what a call costs')
  return countCall({ kind: 'http', ...plainSetup(measure.dist, upstream) }, load)
}

function countTable(judged: readonly JudgedCount[]): string {
  return markdownTable(
    ['of a JSON call, one at a time', 'counted', 'recorded', 'verdict'],
    judged.map(({ title, value, recorded, isPast }) => [
      title,
      format(value, 1),
      recorded === undefined ? 'not for this version of Node' : format(recorded, 1),
      isPast ? 'past' : 'within',
    ]),
  )
}

async function main(): Promise<void> {
  const settings = await readSettings()
  if (settings === undefined) {
    process.stdout.write(HELP)
    return
  }
  const machine = describeMachine()
  process.stdout.write(`${machineLine(machine)} Compared with ${settings.against}.\n\n`)
  const upstream = await startProgram({ command: programCommand('upstream', {}), core: 'load' })
  const load = await startProgram({ command: programCommand('load', {}), core: 'load' })
  const results: RowResult[] = []
  let areCountsPast = false
  if (settings.isShort || settings.isRecord) {
    const counts = await countToday(settings, upstream, load)
    if (settings.isRecord) writeRecord(counts)
    const judged = judgeCounts(counts, readRecord())
    process.stdout.write(`${countTable(judged)}\n\n`)
    areCountsPast = judged.some(({ isPast }) => isPast)
  }
  for (const row of settings.isRecord ? [] : settings.rows) {
    const result = await judgeTwice(async () => {
      const measured = await measureRow(row, settings.measure, upstream, load)
      const { blocks, figure, verdict } = measured
      const { low, high } = figure.interval
      say(`${row.name}: ${format(low, 3)} to ${format(high, 3)} after ${blocks} blocks: ${verdict}`)
      return measured
    })
    results.push(result)
  }
  await Promise.all([upstream.stop(), load.stop()])
  if (results.length > 0) process.stdout.write(`${resultTable(results)}\n`)
  mkdirSync(dirname(settings.jsonFile), { recursive: true })
  writeFileSync(settings.jsonFile, `${JSON.stringify({ machine, results }, undefined, 2)}\n`)
  if (areCountsPast || results.some(({ verdict }) => verdict === 'past')) process.exitCode = 1
}

runMain(main)
