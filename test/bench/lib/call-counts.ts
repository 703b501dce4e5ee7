import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jobFor } from './measure.js'
import type { CallCounts, LoadResult, SystemSetup } from './messages.js'
import { MODEL, MOUNT } from './names.js'
import { type Program, programCommand, startProgram } from './program.js'
import { SCENARIOS, type Scenario } from './scenarios.js'
import { PATH, portOf, type Target } from './systems.js'

/** What one JSON call costs, whatever else the machine does. */
export interface Counts extends Omit<CallCounts, 'calls'> {
  /** NaN without `strace`. */
  readonly systemCalls: number
}

/** Calls one at a time: those at once share system calls, more or fewer of them in each run. */
const ONE_AT_A_TIME = scenario('json-1')
const WARM_UP = scenario('json-50')
/** By then V8 has compiled the code of a call. */
const WARM_CALLS = 20_000
const COUNTED_CALLS = 2_000
const STEP_MS = 500
/** Much more memory than the counted calls allocate, so that nothing is collected meanwhile. */
const UNCOLLECTED = ['--expose-gc', '--max-semi-space-size=512', '--min-semi-space-size=512']
/** Waits depend on what arrives together, and calls of the garbage collector and its threads on the machine. */
const TRACED = 'read,write,readv,writev,recvfrom,sendto,recvmsg,sendmsg,epoll_ctl'
const FEW_MS = 300
const MANY_MS = 2_000

function scenario(name: string): Scenario {
  return SCENARIOS.find((one) => one.name === name)!
}

export async function countCall(setup: SystemSetup, load: Program): Promise<Counts> {
  const { calls: _calls, ...counted } = await countObjects(setup, load)
  return { ...counted, systemCalls: await countSystemCalls(setup, load) }
}

async function countObjects(setup: SystemSetup, load: Program): Promise<CallCounts> {
  const program = await startProgram({
    command: programCommand('counted', setup, UNCOLLECTED),
    core: 'system',
  })
  try {
    const count = async (kind: 'bytes' | 'objects', load: () => Promise<number>, calls: number) => {
      await program.ask({ kind })
      for (let done = 0; done < calls; ) done += await load()
      return program.ask<CallCounts>({ kind: 'counts' })
    }
    const run = (what: Scenario) => () => runLoad(what, targetOf(program), load, STEP_MS)
    await count('bytes', run(WARM_UP), WARM_CALLS)
    const { bytes } = await count('bytes', run(ONE_AT_A_TIME), COUNTED_CALLS)
    return { ...(await count('objects', run(ONE_AT_A_TIME), COUNTED_CALLS)), bytes }
  } finally {
    await program.stop()
  }
}

/** The difference between a run with few calls and one with many, which leaves out what starting costs. */
async function countSystemCalls(setup: SystemSetup, load: Program): Promise<number> {
  if (spawnSync('strace', ['-c', 'true'], { stdio: 'ignore' }).status !== 0) return Number.NaN
  const [few, many] = [await traceCalls(setup, load, FEW_MS), await traceCalls(setup, load, MANY_MS)]
  return (many.systemCalls - few.systemCalls) / (many.calls - few.calls)
}

async function traceCalls(
  setup: SystemSetup,
  load: Program,
  forMs: number,
): Promise<{ calls: number; systemCalls: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'compat-router-strace-'))
  const file = join(folder, 'counts')
  try {
    const command = [
      'strace',
      '-f',
      '-c',
      '-e',
      `trace=${TRACED}`,
      '-o',
      file,
      ...programCommand('system', setup),
    ]
    const program = await startProgram({ command, core: 'system' })
    const calls = await runLoad(ONE_AT_A_TIME, targetOf(program), load, forMs).finally(() => program.stop())
    return { calls, systemCalls: readTotal(readFileSync(file, 'utf8')) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The line of `strace -c` with the sums: per cent, seconds, microseconds a call, calls, errors, `total`. */
function readTotal(table: string): number {
  const total = /^\s*100\.00\s+[\d.]+\s+(?:\d+\s+)?(\d+)\s+(?:\d+\s+)?total$/m.exec(table)?.[1]
  if (total === undefined) throw new Error(`strace -c printed no total:\n${table}`)
  return Number(total)
}

/** Returns how many calls were made. */
async function runLoad(what: Scenario, target: Target, load: Program, forMs: number): Promise<number> {
  const result = await load.ask<LoadResult>({ ...jobFor(what, target, forMs), warmMs: 0 })
  if (result.errors > 0) throw new Error(`${target.name}: ${result.errors} errors: ${result.firstError}`)
  return result.all.replies
}

function targetOf(program: Program): Target {
  return {
    name: 'counted',
    port: portOf(program),
    path: MOUNT + PATH,
    headers: {},
    model: MODEL,
    program,
    stop: () => program.stop(),
  }
}
