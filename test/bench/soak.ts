/**
 * `npm run bench:soak`: the router under full load for a long time, and the memory that remains afterwards.
 * See README.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readNumber, runMain, say } from './lib/arguments.js'
import { type Answer, chatBody, eventsOf } from './lib/chat-body.js'
import { describeMachine, machineLine } from './lib/machine.js'
import type { Inventory, LoadJob, LoadResult } from './lib/messages.js'
import { tokenOf } from './lib/names.js'
import { residentBytesOf } from './lib/process-usage.js'
import { type Program, programCommand, startProgram } from './lib/program.js'
import { format } from './lib/report.js'
import { median } from './lib/statistics.js'
import { findSystems, type Target } from './lib/systems.js'
import { markdownTable } from './lib/table.js'

const HELP = `npm run bench:soak -- [options]

  --minutes N    0.5
  --systems NAME http: one of http, connect, express, front
  --json FILE    test/bench/results/soak.json
  --dist DIR     dist: the folder of the built package
`

const MEBIBYTE = 1_024 * 1_024
const WARM_UP_MS = 5_000
const SAMPLE_MS = 500
/** Longer than either side keeps connections open for the next request. */
const REST_PATIENCE_MS = 30_000
const REST_STEP_MS = 1_000
const END_PATIENCE_MS = 15_000
/** How much the last third may use above the middle third. */
const FLAT = { share: 0.1, bytes: 16 * MEBIBYTE }
/** The allowed growth of the heap: code that ran for the first time, and object shapes. */
const HEAP_SLACK_BYTES = 8 * MEBIBYTE

/**
 * The connection pool keeps a client, and the last socket of each, for the highest number of connections that
 * were ever open at once, so a new peak is not a leak. Calls whose client has left are still being read, so
 * there is more than one for each caller.
 */
const MOST_FOR_EACH_CALLER: Readonly<Record<string, number>> = { 'live sockets': 1.5, 'live emitters': 4.5 }

interface Traffic {
  readonly name: string
  readonly answer: Answer
  readonly connections: number
  readonly reader?: LoadJob['reader']
  readonly token?: string
  readonly status?: number
}

/** Every possible outcome of a call, all at once. */
const TRAFFIC: readonly Traffic[] = [
  { name: 'JSON replies', answer: {}, connections: 30 },
  { name: 'streams as fast as possible', answer: { events: 200 }, connections: 10 },
  { name: 'one event a segment', answer: { events: 50, segments: true }, connections: 10 },
  { name: 'paced streams', answer: { events: 50, paceMs: 20 }, connections: 50 },
  { name: 'clients that leave', answer: { events: 20, paceMs: 5 }, connections: 5, reader: 'leaves' },
  { name: 'slow readers', answer: { events: 2_000 }, connections: 5, reader: 'slow' },
  { name: 'wrong keys', answer: {}, connections: 2, token: 'sk-wrong', status: 401 },
  { name: 'requests that the provider refuses', answer: { status: 400 }, connections: 2, status: 400 },
]

const CALLERS = TRAFFIC.reduce((sum, { connections }) => sum + connections, 0)

function jobFor(traffic: Traffic, target: Target, measureMs: number): LoadJob {
  const { answer, connections, reader = 'eager', token = tokenOf(0), status = 200 } = traffic
  return {
    port: target.port,
    path: target.path,
    headers: target.headers,
    requests: [{ token, body: chatBody(target.model, answer) }],
    connections,
    rampMs: 500,
    warmMs: 0,
    measureMs,
    reader,
    expect: { status, ...(answer.events !== undefined && { events: eventsOf(answer) }) },
    finish: true,
    processId: target.program.processId,
  }
}

interface Soak {
  readonly results: Readonly<Record<string, LoadResult>>
  readonly residentBytes: readonly number[]
}

async function soak(target: Target, load: Program, forMs: number): Promise<Soak> {
  const residentBytes: number[] = []
  let isOver = false
  const asked = Promise.all(
    TRAFFIC.map(async (traffic) => [
      traffic.name,
      await load.ask<LoadResult>(jobFor(traffic, target, forMs)),
    ]),
  )
  const over = asked.finally(() => {
    isOver = true
  })
  over.catch(() => undefined)
  while (!isOver) {
    await delay(SAMPLE_MS)
    residentBytes.push(residentBytesOf(target.program.processId))
    if (residentBytes.length % 60 === 0) say(`  ${format(residentBytes.at(-1)! / MEBIBYTE, 0)} MiB`)
  }
  return { results: Object.fromEntries(await over) as Soak['results'], residentBytes }
}

/** Waits until nothing more is released. */
async function atRest(target: Target): Promise<Inventory> {
  const until = performance.now() + REST_PATIENCE_MS
  let last = ''
  for (;;) {
    await delay(REST_STEP_MS)
    const inventory = await target.program.ask<Inventory>({ kind: 'inventory' })
    const counts = JSON.stringify(inventory.counts)
    const isQuiet = counts === last && (inventory.counts['resource TCPSocketWrap'] ?? 0) === 0
    if (isQuiet || performance.now() > until) return inventory
    last = counts
  }
}

interface Finding {
  readonly what: string
  readonly before: string
  readonly after: string
  readonly isGood: boolean
}

function judge(before: Inventory, after: Inventory, soaked: Soak, endsByItself: boolean): Finding[] {
  const findings: Finding[] = []
  const third = Math.floor(soaked.residentBytes.length / 3)
  const middle = median(soaked.residentBytes.slice(third, 2 * third))
  const last = median(soaked.residentBytes.slice(2 * third))
  const mebibytes = (bytes: number): string => `${format(bytes / MEBIBYTE, 1)} MiB`
  findings.push({
    what: 'memory in use, middle third and last third',
    before: mebibytes(middle),
    after: mebibytes(last),
    isGood: last - middle <= Math.max(FLAT.bytes, middle * FLAT.share),
  })
  findings.push({
    what: 'heap at rest',
    before: mebibytes(before.heapBytes),
    after: mebibytes(after.heapBytes),
    isGood: after.heapBytes - before.heapBytes <= HEAP_SLACK_BYTES,
  })
  for (const name of new Set([...Object.keys(before.counts), ...Object.keys(after.counts)])) {
    const counts = [before.counts[name] ?? 0, after.counts[name] ?? 0] as const
    findings.push({
      what: `${name} at rest`,
      before: String(counts[0]),
      after: String(counts[1]),
      isGood: counts[1] <= Math.max(counts[0], (MOST_FOR_EACH_CALLER[name] ?? 0) * CALLERS),
    })
  }
  for (const warning of after.warnings) {
    findings.push({ what: `warning: ${warning}`, before: '', after: '', isGood: false })
  }
  findings.push({
    what: 'ends by itself once closed',
    before: '',
    after: endsByItself ? 'yes' : 'no',
    isGood: endsByItself,
  })
  return findings
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '0.5' },
      systems: { type: 'string', default: 'http' },
      json: { type: 'string', default: 'test/bench/results/soak.json' },
      dist: { type: 'string', default: 'dist' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  const minutes = readNumber('minutes', values.minutes, 0.05)
  const machine = describeMachine()
  process.stdout.write(`${machineLine(machine)} ${minutes} minutes on ${values.systems}.\n\n`)
  const upstream = await startProgram({ command: programCommand('upstream', {}), core: 'load' })
  const load = await startProgram({ command: programCommand('load', {}), core: 'load' })
  const [system] = await findSystems([values.systems], { dist: resolve(values.dist) })
  const target = await system!.start(upstream, { ledger: 'rotating' })
  say('warm-up')
  await soak(target, load, WARM_UP_MS)
  const before = await atRest(target)
  say('soak')
  const soaked = await soak(target, load, minutes * 60_000)
  say('rest')
  const after = await atRest(target)
  await target.program.ask({ kind: 'close' })
  const endsByItself = await target.program.ends(END_PATIENCE_MS)
  await target.stop()
  await Promise.all([upstream.stop(), load.stop()])

  const traffic = Object.entries(soaked.results).map(([name, { seconds, replies, errors, firstError }]) => [
    name,
    format(replies, 0),
    format(replies / seconds, 0),
    firstError === undefined ? String(errors) : `${errors} (${firstError})`,
  ])
  process.stdout.write(`${markdownTable(['traffic', 'replies', 'a second', 'errors'], traffic)}\n\n`)
  const findings = judge(before, after, soaked, endsByItself)
  const rows = findings.map((found) => [found.what, found.before, found.after, found.isGood ? 'ok' : 'GROWS'])
  process.stdout.write(`${markdownTable(['', 'before', 'after', ''], rows)}\n\n`)
  const file = resolve(values.json)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(
    file,
    `${JSON.stringify({ machine, minutes, before, after, ...soaked, findings }, undefined, 2)}\n`,
  )
  say(`samples: ${file}`)
  const hasErrors = Object.values(soaked.results).some(({ errors }) => errors > 0)
  if (hasErrors || findings.some(({ isGood }) => !isGood)) process.exitCode = 1
}

runMain(main)
