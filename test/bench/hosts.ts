/** `npm run bench:hosts`: what a web `Request` costs the handler, beside what it costs a constant. See README.md. */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readNumber, runMain, say } from './lib/arguments.js'
import { chatBody } from './lib/chat-body.js'
import type { LoadJob, LoadResult, WebHostKind } from './lib/messages.js'
import { MODEL, MOUNT, tokenOf } from './lib/names.js'
import { type Program, programCommand, startProgram } from './lib/program.js'
import { median } from './lib/statistics.js'
import { markdownTable } from './lib/table.js'

const HELP = `npm run bench:hosts -- [options]

  --rounds N         15
  --seconds N        1, for each host and round
  --dist DIR         dist: the folder of the built package
`
const KINDS: readonly WebHostKind[] = ['router-http', 'handler-hono', 'constant-http', 'constant-hono']
const CALLERS = 50
const WARM_MS = 300
/** The least share of the router's rate that the handler keeps, beyond what the host itself takes. */
const LEAST = 0.85

interface Host {
  readonly kind: WebHostKind
  readonly program: Program
}

/** The replies of a second, and of a second of CPU time. */
interface Measured {
  readonly rate: number
  readonly perCpu: number
}

async function measure({ program }: Host, load: Program, ms: number): Promise<Measured> {
  const { port } = program.ready as { port: number }
  const job: LoadJob = {
    port,
    path: `${MOUNT}/chat/completions`,
    headers: {},
    requests: [{ token: tokenOf(0), body: chatBody(MODEL, {}) }],
    connections: CALLERS,
    reader: 'eager',
    expect: { status: 200 },
    rampMs: 0,
    warmMs: WARM_MS,
    measureMs: ms,
    finish: true,
    processId: program.processId,
  }
  const { cpuSeconds, errors, firstError, replies, seconds } = await load.ask<LoadResult>(job)
  if (errors > 0) throw new Error(firstError)
  return { rate: replies / seconds, perCpu: replies / cpuSeconds }
}

runMain(async () => {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '15' },
      seconds: { type: 'string', default: '1' },
      dist: { type: 'string', default: 'dist' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return say(HELP)
  const rounds = readNumber('--rounds', values.rounds, 1)
  const ms = readNumber('--seconds', values.seconds, 0.1) * 1_000
  const start = (name: string, setup: object, core: 'system' | 'load') =>
    startProgram({ command: programCommand(name, setup), core })
  const upstream = await start('upstream', {}, 'load')
  const load = await start('load', {}, 'load')
  const upstreamPort = (upstream.ready as { port: number }).port
  const hosts: Host[] = []
  for (const kind of KINDS) {
    const setup = { kind, upstreamPort, dist: resolve(values.dist) }
    hosts.push({ kind, program: await start('web-host', setup, 'system') })
  }
  const measured = new Map<WebHostKind, Measured[]>(KINDS.map((kind) => [kind, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const host of hosts) {
      const got = await measure(host, load, ms)
      // Nothing is compiled yet in the first.
      if (round > 0) measured.get(host.kind)!.push(got)
    }
    say(`round ${round} of ${rounds}`)
  }
  for (const { program } of [
    ...hosts.map(({ program }) => ({ program })),
    { program: load },
    { program: upstream },
  ]) {
    await program.stop()
  }
  const medians = KINDS.map((kind) => ({
    kind,
    rate: median(measured.get(kind)!.map(({ rate }) => rate)),
    perCpu: median(measured.get(kind)!.map(({ perCpu }) => perCpu)),
  }))
  console.log(
    markdownTable(
      ['', 'calls a second', 'calls a second of CPU'],
      medians.map(({ kind, perCpu, rate }) => [kind, rate.toFixed(0), perCpu.toFixed(0)]),
    ),
  )
  const share = (by: keyof Measured) => {
    const [router, handler, http, hono] = medians.map((each) => each[by])
    return handler! / router! / (hono! / http!)
  }
  const [byRate, byCpu] = [share('rate'), share('perCpu')]
  console.log(
    `The handler keeps ${byRate.toFixed(2)} by rate and ${byCpu.toFixed(2)} by CPU: at least ${LEAST} by rate.`,
  )
  if (byRate < LEAST) process.exitCode = 1
})
