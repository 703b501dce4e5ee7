import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { createAdmin } from '../../../src/admin/index.js'
import type { CallContext, Principal } from '../../../src/contracts/index.js'
import { bucketOf } from '../../../src/rules/bucket-of.js'
import type { DurableStores } from '../../../src/sql/stores.js'
import { openAccounts } from '../../helpers/open-accounts.js'
import { programFile } from '../../helpers/program.js'
import { seeded } from '../../idempotency/proof/random.js'
import { installAudit, readChanges } from './audit.js'
import { Replay } from './replay.js'
import { openStores } from './stores.js'
import type { Refusal } from './watch-refusals.js'
import { amountsOf, callersOf, OPENING, type World } from './world.js'

export interface ProofOptions {
  readonly world: World
  readonly processes: number
  readonly callers: number
  readonly kills: number
  readonly seed: number
  /** How far the clocks of the odd processes are ahead. */
  readonly skewMs?: number
  /** Changes the database before the first call, to plant a bug. */
  readonly plant?: (stores: DurableStores) => Promise<void>
}

export interface ProofResult {
  readonly calls: number
  /** How the calls ended: by status and code. */
  readonly ends: Readonly<Record<string, number>>
  readonly kills: number
  readonly changes: number
  readonly refusals: number
  /** The refusals of each limit. */
  readonly refusedBy: Readonly<Record<string, number>>
  readonly falseRefusals: number
  /** The largest part of each limit that was used, in percent. */
  readonly usedPercent: Readonly<Record<string, number>>
  /** One sentence for each violation. */
  readonly problems: readonly string[]
}

interface Line {
  readonly status?: number
  readonly code?: string
  readonly refusal?: Refusal
  readonly fault?: string
}

const MAX_PROBLEMS = 20
const CONTEXT: CallContext = { requestId: 'proof', signal: new AbortController().signal }

/**
 * Makes calls through routers in several processes, kills some of these on the way, and compares every state that a bucket
 * has had with its limit, and every refusal with the state in which it was decided.
 */
export async function prove(options: ProofOptions): Promise<ProofResult> {
  const { world, processes, kills, seed } = options
  const { stores, close } = openStores(world)
  const problems: string[] = []
  const refusals: Refusal[] = []
  const ends: Record<string, number> = {}
  const random = seeded(seed)
  await openAccounts(stores.database, { 'account-0': OPENING, 'account-1': OPENING })
  await options.plant?.(stores)
  await installAudit(stores)
  let done = 0
  let killed = 0
  let starts = 0
  /** The numbers of finished calls at which a process is killed. */
  const killAt = Array.from({ length: kills }, (_, index) =>
    Math.ceil(((index + 0.5) * world.calls) / (kills + 1)),
  )

  async function runProcess(index: number): Promise<void> {
    let left = Math.ceil(world.calls / processes)
    while (left > 0) {
      const child = await start(options, index, left, seed * 1_000 + starts++)
      const said = hear(child, (line) => {
        if (line.refusal !== undefined) refusals.push(line.refusal)
        if (line.fault !== undefined) problems.push(`a fault: ${line.fault}`)
        if (line.status === undefined) return
        const end = `${line.status}${line.code === undefined ? '' : ` ${line.code}`}`
        ends[end] = (ends[end] ?? 0) + 1
        left--
        done++
        if (killed < kills && done >= killAt[killed]! && random() < 0.5 && left > 0) {
          killed++
          child.kill('SIGKILL')
        }
      })
      await said
      if (child.signalCode === null && child.exitCode !== 0)
        throw new Error(`A process ended with ${child.exitCode}`)
      if (child.signalCode === null) break
    }
  }

  try {
    await Promise.all(Array.from({ length: processes }, (_, index) => runProcess(index)))
    const changes = await readChanges(stores)
    const replay = new Replay(changes)
    problems.push(...replay.problems)
    const falseRefusals = refusals.filter((refusal) => replay.isFalse(refusal))
    for (const refusal of falseRefusals) problems.push(`a false refusal: ${JSON.stringify(refusal)}`)
    const usedPercent = checkStates(world, replay, problems)
    await checkBooks(world, stores, problems)
    return {
      calls: done,
      ends,
      kills: killed,
      changes: changes.length,
      refusals: refusals.length,
      refusedBy: countLimits(refusals),
      falseRefusals: falseRefusals.length,
      usedPercent,
      problems: problems.slice(0, MAX_PROBLEMS),
    }
  } finally {
    await close()
  }
}

async function start(
  { world, callers, skewMs = 0 }: ProofOptions,
  index: number,
  calls: number,
  seed: number,
) {
  const program = await programFile(new URL('./process.ts', import.meta.url))
  const settings = { world, calls, callers, seed, skewMs: index % 2 === 1 ? skewMs : 0 }
  return spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** Reads a process's lines until it has ended. The last line of a killed process may be truncated. */
async function hear(child: ChildProcess, heard: (line: Line) => void): Promise<void> {
  const closed = once(child, 'close')
  createInterface(child.stdout!).on('line', (text) => {
    let line: Line
    try {
      line = JSON.parse(text) as Line
    } catch {
      return
    }
    heard(line)
  })
  await closed
}

function countLimits(refusals: readonly Refusal[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { bucket } of refusals) {
    const limit = bucket.split(':')[0]!
    counts[limit] = (counts[limit] ?? 0) + 1
  }
  return counts
}

/** Returns the use of each limit in percent. */
function checkStates(world: World, replay: Replay, problems: string[]): Record<string, number> {
  const percents: Record<string, number> = {}
  for (const [bucket, { amount }] of amountsOf(world)) {
    let most = 0n
    for (const { held, seq, used } of replay.statesOf(bucket)) {
      if (held < 0n || used < 0n) problems.push(`${bucket} has ${held} held and ${used} used in state ${seq}`)
      if (used > most) most = used
      // No reply of these providers has more tokens than its estimate.
      if (held + used > amount)
        problems.push(`${bucket} passed its limit of ${amount} in state ${seq}: ${held} held, ${used} used`)
    }
    percents[bucket] = Number((most * 10_000n) / amount) / 100
  }
  return percents
}

/** Compares the buckets with the charges, whose use is counted here again, and with the holds. */
async function checkBooks(world: World, stores: DurableStores, problems: string[]): Promise<void> {
  for (const { message } of await createAdmin(stores).maintenance.verify()) problems.push(message)
  const buckets = new Map(
    [...callersOf(world).values()].map((caller) => [caller.credentialId, bucketsOf(caller)]),
  )
  let after: string | undefined
  do {
    const page = await stores.ledger.entries({ limit: 1_000, ...(after !== undefined && { after }) }, CONTEXT)
    for (const { charge, facts, limits = [] } of page.entries) {
      if (charge === undefined) continue
      const { prompt, completion } = charge.usage
      const due = { credits: charge.cost, requests: 1n, tokens: BigInt(prompt + completion) }
      const names = limits.map(({ bucket }) => bucket)
      if (
        limits.some(({ unit, used }) => used !== due[unit]) ||
        names.sort().join() !== buckets.get(facts!.credentialId)
      )
        problems.push(`the charge of ${facts!.requestId} has a wrong use`)
    }
    after = page.next
  } while (after !== undefined)
}

function bucketsOf({ limits = [] }: Principal): string {
  return limits.map(bucketOf).sort().join()
}
