import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createAdmin } from '../../../src/admin/index.js'
import type { CallContext } from '../../../src/contracts/index.js'
import type { DurableStores } from '../../../src/sql/stores.js'
import { openAccounts } from '../../helpers/open-accounts.js'
import { seeded } from '../../idempotency/proof/random.js'
import { type BucketState, installAudit, readStates } from './audit.js'
import { openStores } from './stores.js'
import type { Refusal } from './watch-refusals.js'
import { amountsOf, OPENING, type World } from './world.js'

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
  readonly states: number
  readonly refusals: number
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
 * has had with its limit, and every refusal with the states among which it was decided.
 */
export async function prove(options: ProofOptions): Promise<ProofResult> {
  const { world, processes, kills, seed } = options
  const { stores, close } = openStores(world)
  const problems: string[] = []
  const refusals: Refusal[] = []
  const ends: Record<string, number> = {}
  const random = seeded(seed)
  await openAccounts(stores.database, { 'account-0': OPENING, 'account-1': OPENING })
  await installAudit(stores)
  await options.plant?.(stores)
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
      const child = start(options, index, left, seed * 1_000 + starts++)
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
    const states = await readStates(stores)
    const falseRefusals = refusals.filter((refusal) => isFalse(world, refusal, states))
    for (const refusal of falseRefusals) problems.push(`a false refusal: ${JSON.stringify(refusal)}`)
    const usedPercent = checkStates(world, states, problems)
    await checkBooks(stores, problems)
    return {
      calls: done,
      ends,
      kills: killed,
      states: states.length,
      refusals: refusals.length,
      falseRefusals: falseRefusals.length,
      usedPercent,
      problems: problems.slice(0, MAX_PROBLEMS),
    }
  } finally {
    await close()
  }
}

function start({ world, callers, skewMs = 0 }: ProofOptions, index: number, calls: number, seed: number) {
  const program = fileURLToPath(new URL('./process.ts', import.meta.url))
  const settings = { world, calls, callers, seed, skewMs: index % 2 === 1 ? skewMs : 0 }
  return spawn(process.execPath, ['--import', 'tsx', program, JSON.stringify(settings)], {
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

/**
 * A refusal is false if its amount would have fitted in every state that its bucket had while it was decided. SQLite's
 * ledger writes a bucket once for all commands of a transaction, so only refusals between two equal states can be judged.
 */
function isFalse(
  { engine }: World,
  { after, amount, before, bucket, limit, own }: Refusal,
  states: readonly BucketState[],
): boolean {
  if (engine === 'SQLite' && before !== after) return false
  const during = states.filter(
    (state) => state.bucket === bucket && state.seq >= BigInt(before) && state.seq <= BigInt(after),
  )
  return during.every(({ held, used }) => held + used - BigInt(own) + BigInt(amount) <= BigInt(limit))
}

/** Returns the use of each limit in percent. */
function checkStates(
  world: World,
  states: readonly BucketState[],
  problems: string[],
): Record<string, number> {
  const percents: Record<string, number> = {}
  for (const [bucket, { amount, unit }] of amountsOf(world)) {
    let most = 0n
    for (const { held, seq, used } of states.filter((state) => state.bucket === bucket)) {
      if (held < 0n || used < 0n) problems.push(`${bucket} has ${held} held and ${used} used in state ${seq}`)
      if (used > most) most = used
      // The tokens of a reply may be more than the estimate.
      if (unit !== 'tokens' && held + used > amount)
        problems.push(`${bucket} passed its limit of ${amount} in state ${seq}: ${held} held, ${used} used`)
    }
    percents[bucket] = Number((most * 10_000n) / amount) / 100
  }
  return percents
}

/** Compares the buckets with the entries and the holds, counted here anew. */
async function checkBooks(stores: DurableStores, problems: string[]): Promise<void> {
  for (const { message } of await createAdmin(stores).verify()) problems.push(message)
  const expected = new Map<string, bigint>()
  const add = (key: string, amount: bigint) => expected.set(key, (expected.get(key) ?? 0n) + amount)
  let after: string | undefined
  do {
    const page = await stores.ledger.entries({ limit: 1_000, ...(after !== undefined && { after }) }, CONTEXT)
    for (const { limits = [] } of page.entries) {
      for (const { bucket, unit, used } of limits) if (unit !== 'requests') add(`used ${bucket}`, used)
    }
    after = page.next
  } while (after !== undefined)
  const holds = await stores.database.all({
    text: 'select state, limits from {holds} where limits is not null',
    isReport: true,
  })
  for (const { limits, state } of holds) {
    for (const [bucket, unit, , amount] of JSON.parse(String(limits)) as [string, string, number, string][]) {
      if (unit === 'requests') add(`used ${bucket}`, BigInt(amount))
      else if (Number(state) === 0) add(`held ${bucket}`, BigInt(amount))
    }
  }
  const rows = await stores.database.all({ text: 'select id, held, used from {limit_buckets}' })
  for (const { held, id, used } of rows) {
    const [dueHeld, dueUsed] = [expected.get(`held ${id}`) ?? 0n, expected.get(`used ${id}`) ?? 0n]
    if (BigInt(held!) !== dueHeld) problems.push(`${id} holds ${held}, and its open holds ${dueHeld}`)
    if (BigInt(used!) !== dueUsed) problems.push(`${id} has used ${used}, and its calls ${dueUsed}`)
  }
}
