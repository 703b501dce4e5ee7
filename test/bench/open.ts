/** `npm run bench:open`: latency at a fixed rate of arrivals, with charging on. See README.md. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readNames, readNumber, runMain, say } from './lib/arguments.js'
import { type Answer, chatBody, eventsOf } from './lib/chat-body.js'
import { describeMachine, machineLine } from './lib/machine.js'
import { warmUp } from './lib/measure.js'
import type { OpenJob, OpenResult } from './lib/messages.js'
import { tokenOf } from './lib/names.js'
import { type Program, programCommand, startProgram } from './lib/program.js'
import { format } from './lib/report.js'
import { SCENARIOS } from './lib/scenarios.js'
import { findSystems, type Target } from './lib/systems.js'
import { markdownTable } from './lib/table.js'

const ANSWERS: Readonly<Record<string, Answer>> = { json: {}, stream: { events: 20, paceMs: 20 } }
const SYSTEMS = 'direct,pipe,on-memory,on-sqlite,on-postgres'
const WARM_UP_MS = 2_000
const WARM_MS = 5_000
/** A system that gets fewer of the arrivals to their end is too slow for the rate. */
const REACHED = 0.99

const HELP = `npm run bench:open -- [options]

  --rates NUMBERS    1000,5000,10000 requests a second
  --seconds N        60, for each rate and system, after 5 seconds of warm-up
  --answers NAMES    ${Object.keys(ANSWERS).join(',')}
  --systems NAMES    ${SYSTEMS}
  --connections N    2000, the most at once
  --json FILE        test/bench/results/open.json
  --dist DIR         dist: the folder of the built package
`

interface Row {
  readonly answer: string
  readonly rate: number
  readonly system: string
  readonly result: OpenResult
}

const HEAD = [
  'system',
  'arrived/s',
  'replied/s',
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'over direct: p50',
  'p99',
  'p99.9',
  'CPU µs/call, router',
  'PostgreSQL',
  'errors',
]

function tableOf(rows: readonly Row[]): string {
  const direct = rows.find(({ system }) => system === 'direct')
  return markdownTable(
    HEAD,
    rows.map((row) => cellsOf(row, direct)),
  )
}

function cellsOf({ answer, system, result }: Row, direct: Row | undefined): string[] {
  const times = timesOf(answer, result)
  const base = direct === undefined ? undefined : timesOf(answer, direct.result)
  const over = (name: 'p50' | 'p99' | 'p999'): string =>
    base === undefined || system === 'direct' ? '–' : format(times[name] - base[name], 2)
  const perCall = (seconds: number): string =>
    system === 'direct' ? '–' : format((seconds / result.arrived) * 1e6, 0)
  const first = result.firstError === undefined ? '' : ` (${result.firstError})`
  return [
    system,
    format(result.arrived / result.seconds, 0),
    format(result.replies / result.seconds, 0),
    format(times.p50, 2),
    format(times.p99, 2),
    format(times.p999, 2),
    over('p50'),
    over('p99'),
    over('p999'),
    perCall(result.routerCpuSeconds),
    result.databaseCpuSeconds === 0 ? '–' : perCall(result.databaseCpuSeconds),
    `${result.errors}${first}`,
  ]
}

/** The whole reply if it is one body, and the first event if it is a stream. */
function timesOf(answer: string, { firstEventMs, replyMs }: OpenResult): OpenResult['replyMs'] {
  return answer === 'json' ? replyMs : firstEventMs
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rates: { type: 'string', default: '1000,5000,10000' },
      seconds: { type: 'string', default: '60' },
      answers: { type: 'string', default: Object.keys(ANSWERS).join(',') },
      systems: { type: 'string', default: SYSTEMS },
      connections: { type: 'string', default: '2000' },
      json: { type: 'string', default: 'test/bench/results/open.json' },
      dist: { type: 'string', default: 'dist' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  const rates = readNames(values.rates).map((rate) => readNumber('rates', rate, 1))
  const measureMs = readNumber('seconds', values.seconds, 1) * 1_000
  const connections = readNumber('connections', values.connections, 1)
  const answers = readNames(values.answers)
  for (const name of answers) {
    if (ANSWERS[name] === undefined) {
      throw new Error(`--answers: unknown name ${JSON.stringify(name)}; known are json, stream`)
    }
  }
  const machine = describeMachine()
  process.stdout.write(`${machineLine(machine)}\n\n`)
  const upstream = await startProgram({ command: programCommand('upstream', {}), core: 'load' })
  const load = await startProgram({ command: programCommand('load', {}), core: 'load' })
  const openLoad = await startProgram({ command: programCommand('open-load', {}), core: 'load' })
  const targets: { name: string; target: Target }[] = []
  const rows: Row[] = []
  try {
    for (const system of await findSystems(readNames(values.systems), { dist: resolve(values.dist) })) {
      const target = await system.start(upstream)
      targets.push({ name: system.name, target })
      if (system.name !== 'direct') {
        say(`warms up ${system.name}`)
        for (const scenario of SCENARIOS.filter(({ name }) => name === 'json-50' || name === 'paced')) {
          await warmUp(scenario, target, load, WARM_UP_MS)
        }
      }
    }
    for (const answer of answers) {
      for (const rate of rates) {
        const atRate: Row[] = []
        for (const { name, target } of targets) {
          const job = jobFor(target, ANSWERS[answer]!, { rate, connections, measureMs })
          atRate.push({ answer, rate, system: name, result: await run(openLoad, job) })
          say(`  ${answer}, ${rate}/s: ${name}`)
        }
        rows.push(...atRate)
        process.stdout.write(`### ${titleOf(answer)}, ${rate} a second\n\n${tableOf(atRate)}\n\n`)
        const isLost = atRate.some(({ result }) => result.replies < result.arrived * REACHED)
        if (isLost) process.stdout.write('Not every system kept up at this rate.\n\n')
      }
    }
  } finally {
    for (const { target } of targets) await target.stop()
    await Promise.all([upstream.stop(), load.stop(), openLoad.stop()])
  }
  const file = resolve(values.json)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ machine, rows }, undefined, 2)}\n`)
  say(`samples: ${file}`)
}

function titleOf(answer: string): string {
  return answer === 'json' ? 'JSON replies, to the end' : 'Streams of 20 events, 20 ms apart, to the first'
}

function run(openLoad: Program, job: OpenJob): Promise<OpenResult> {
  return openLoad.ask<OpenResult>(job)
}

function jobFor(
  target: Target,
  answer: Answer,
  load: Pick<OpenJob, 'rate' | 'connections' | 'measureMs'>,
): OpenJob {
  return {
    port: target.port,
    path: target.path,
    headers: target.headers,
    request: { token: tokenOf(0), body: chatBody(target.model, answer) },
    warmMs: WARM_MS,
    expect: { status: 200, ...((answer.events ?? 0) > 0 && { events: eventsOf(answer) }) },
    processId: target.program.processId,
    ...(target.serverId !== undefined && { serverId: target.serverId }),
    ...load,
  }
}

runMain(main)
