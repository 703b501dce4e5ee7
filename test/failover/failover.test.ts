import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import type { Entry } from '../../src/contracts/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { HOLD_STATE } from '../../src/sql/hold-states.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { runCommand } from '../cli/run-command.js'
import { createPool } from '../helpers/postgres.js'
import { type RouterProcess, startRouter } from '../helpers/start-router.js'
import { type Callers, type ClientCall, startCallers } from './callers.js'
import { type Cluster, startCluster } from './cluster.js'

const rounds = Number(process.env.FAILOVER_ROUNDS ?? 20)
const PROCESSES = 4
const CALLERS = 6
/** The cost and the hold of each call. */
const COST = 30_000n
/** So many calls fit the budget and the credit of the poor account, which run out in a round. */
const FEW = 20n
const CALLS_BEFORE = 150
const CALLS_AFTER = 150
const PER_MINUTE = 150
/** How long nobody answers at the address, beside the promotion. */
const DOWN_MS = 1_500
const SERVES_WITHIN_MS = 10_000
/** As long as a busy machine may need. */
const PATIENCE_MS = 45_000
const ID_PREFIX = 'chatcmpl-'
/** What a client may see, beside replies. */
const REFUSALS = [
  'broken',
  '402 insufficient_credits',
  '402 budget_exceeded',
  '429 budget_on_hold',
  '429 credits_on_hold',
  '429 rate_limited',
  '409 idempotency_in_flight',
  '503 ledger_unavailable',
  '503 credential_store_unavailable',
  '503 idempotency_store_unavailable',
]

interface World {
  readonly cluster: Cluster
  readonly stores: DurableStores
  readonly admin: Admin
  readonly routers: readonly RouterProcess[]
}

async function open(isSynchronous: boolean): Promise<World> {
  const cluster = await startCluster({ isSynchronous })
  const pool = createPool(cluster.url, 6)
  const stores = postgresStores(pool)
  onTestFinished(async () => {
    await stores.close()
    await pool.end()
    await cluster.stop()
  })
  await stores.ready()
  const routers = await Promise.all(
    Array.from({ length: PROCESSES }, () =>
      startRouter({ engine: 'PostgreSQL', place: cluster.url, pollMs: undefined }),
    ),
  )
  return { cluster, stores, admin: createAdmin(stores), routers }
}

/** Keys of a round: one without limits, one with a budget, one with a rate, and one of an account with little credit. */
async function issueKeys(admin: Admin, round: number) {
  const credits = (amount: bigint) => `0.${String(amount).padStart(9, '0')}`
  const [rich, poor] = [`rich-${round}`, `poor-${round}`]
  await admin.accounts.credit({ account: rich, amount: '100', reference: rich })
  await admin.accounts.credit({ account: poor, amount: credits(FEW * COST), reference: poor })
  const issue = (limits: Parameters<Admin['keys']['issue']>[0]['limits'] = []) =>
    admin.keys.issue({ account: rich, limits })
  const budget = await issue([{ unit: 'credits', per: 'total', amount: credits(FEW * COST) }])
  const rate = await issue([{ unit: 'requests', per: 'minute', amount: String(PER_MINUTE) }])
  const free = await issue()
  const little = await admin.keys.issue({ account: poor })
  return { tokens: [free, free, free, budget, rate, little].map(({ token }) => token), budget, rate, poor }
}

/** Credits an account, with functions and with the command line, and reports, while the address moves. */
function startOperator({ admin, cluster }: World, round: number) {
  const acknowledged: string[] = []
  let isOver = false
  async function credit(reference: string, byCommand: boolean): Promise<void> {
    if (!byCommand) {
      await admin.accounts.credit({ account: 'operator', amount: '1', reference })
      return
    }
    const args = ['accounts', 'credit', 'operator', '1', '--create', '--reference', reference]
    const { exitCode, said } = await runCommand(args, { DATABASE_URL: cluster.url })
    if (exitCode !== 0) throw new Error(said)
  }
  const running = (async () => {
    for (let count = 0; !isOver; count++) {
      const reference = `credit-${round}-${count}`
      // An administrator repeats a credit with its reference until it is acknowledged.
      for (;;) {
        try {
          await credit(reference, count % 2 === 1)
          acknowledged.push(reference)
          await admin.reports.spendReport({ by: 'key' })
          break
        } catch {
          await delay(50)
        }
      }
      await delay(20)
    }
  })()
  return {
    acknowledged,
    async stop() {
      isOver = true
      await running
    },
  }
}

async function allEntries(admin: Admin): Promise<Entry[]> {
  const entries: Entry[] = []
  let after: string | undefined
  do {
    const page = await admin.entries.list({ limit: 1_000, ...(after !== undefined && { after }) })
    entries.push(...page.entries)
    after = page.next
  } while (after !== undefined)
  return entries
}

/** Resolves when no hold is open, and no key belongs to a running call. */
async function allFree({ stores }: World): Promise<void> {
  const found = async (from: string) => {
    const [row] = await stores.database.all({ text: `select count(*) as found from ${from}` })
    return Number(row!.found)
  }
  const left = async () => [
    await found(`{holds} where state = ${HOLD_STATE.open}`),
    await found('{replies} where done = 0'),
  ]
  await expect.poll(left, { timeout: PATIENCE_MS }).toEqual([0, 0])
}

/** Calls until the address has moved, and a little longer. Returns how long each process took to serve again. */
async function failOverUnderLoad(
  { cluster, routers }: World,
  callers: Callers,
  before: () => Promise<void>,
): Promise<number> {
  await expect.poll(() => callers.count(), { timeout: PATIENCE_MS }).toBeGreaterThan(CALLS_BEFORE)
  await before()
  await cluster.failOver(DOWN_MS)
  const movedAt = performance.now()
  const after = callers.count()
  const firstAfter = () => Math.min(...callers.servedAt)
  await expect.poll(firstAfter, { timeout: PATIENCE_MS }).toBeGreaterThan(movedAt)
  const tookMs = performance.now() - movedAt
  await expect.poll(() => callers.count(), { timeout: PATIENCE_MS }).toBeGreaterThan(after + CALLS_AFTER)
  await expect
    .poll(() => routers.map(({ events }) => lastWatch(events)), { timeout: PATIENCE_MS })
    .toEqual(routers.map(() => 'watch-restored'))
  await callers.stop()
  return tookMs
}

function lastWatch(events: RouterProcess['events']): string | undefined {
  return events.findLast(({ type }) => type.startsWith('watch-'))?.type
}

const holdOf = (replyId: string) => replyId.slice(ID_PREFIX.length)

/** Checks what holds after any failover. Returns the charges by their holds. */
async function checkBooks(world: World, calls: readonly ClientCall[]): Promise<ReadonlyMap<string, Entry>> {
  expect(await world.admin.maintenance.verify()).toEqual([])
  const charges = (await allEntries(world.admin)).filter(({ charge }) => charge !== undefined)
  const byHold = new Map(charges.map((entry) => [entry.holdId!, entry]))
  expect(byHold.size).toBe(charges.length)
  for (const { charge } of charges) expect(charge!.cost).toBe(COST)
  const seen = new Set(calls.flatMap(({ ends }) => ends))
  expect([...seen].filter((end) => end !== '200' && !REFUSALS.includes(end))).toEqual([])
  return byHold
}

const countDropped = (events: RouterProcess['events']) =>
  events.reduce((sum, { type, count }) => sum + (type === 'calls-dropped' ? Number(count) : 0), 0)

/** Waits until the calls of these replies are kept, beside those that were reported as dropped. */
async function expectKept(
  { stores }: World,
  replies: ReadonlySet<string>,
  dropped: () => number,
): Promise<void> {
  const missing = async () => {
    const [row] = await stores.database.all({
      text: 'select count(distinct id) as found from {calls} where id in (select json_array_elements_text(?1::json))',
      parameters: [JSON.stringify([...replies])],
    })
    return replies.size - Number(row!.found) - dropped()
  }
  await expect.poll(missing, { timeout: PATIENCE_MS }).toBeLessThanOrEqual(0)
}

function expectNearEnd(used: bigint): void {
  expect(used).toBeLessThanOrEqual(FEW * COST)
  expect(used).toBeGreaterThan((FEW * COST) / 2n)
}

/** Checks that each call under a key was charged at most once, and that its replies are one reply. */
function checkKeys(calls: readonly ClientCall[], charges: ReadonlyMap<string, Entry>): void {
  const byRequest = new Map([...charges.values()].map((entry) => [entry.facts!.requestId, entry]))
  for (const { key, replies, requestIds } of calls) {
    if (key === undefined) continue
    const found = [
      ...requestIds.map((id) => byRequest.get(id)),
      ...replies.map((id) => charges.get(holdOf(id))),
    ].filter((entry) => entry !== undefined)
    expect(new Set(found.map(({ id }) => id)).size).toBeLessThanOrEqual(1)
    expect(new Set(replies).size).toBeLessThanOrEqual(1)
  }
}

describe('a failover of PostgreSQL under load', () => {
  it(`to a synchronous standby loses nothing that was acknowledged, ${rounds} times over`, {
    timeout: PATIENCE_MS * (rounds + 1),
  }, async () => {
    const world = await open(true)
    const { admin, cluster, routers } = world
    for (let round = 1; round <= rounds; round++) {
      const { tokens, budget, rate, poor } = await issueKeys(admin, round)
      const reported = routers.map(({ events }) => events.length)
      const ports = routers.map(({ port }) => port)
      const callers = startCallers({ ports, tokens, callers: CALLERS, seed: round })
      const operator = startOperator(world, round)
      const tookMs = await failOverUnderLoad(world, callers, async () => {
        // In every other round, the standby is behind, and commits wait for it when the primary is lost.
        if (round % 2 === 0) {
          cluster.stallReplication()
          await delay(500)
        }
      })
      await operator.stop()
      const { calls } = callers
      await allFree(world)
      const charges = await checkBooks(world, calls)

      const replies = calls.flatMap((call) => call.replies)
      expect(replies.filter((id) => !charges.has(holdOf(id)))).toEqual([])
      checkKeys(calls, charges)
      await expectKept(world, new Set(replies), () =>
        routers.reduce((sum, { events }, index) => sum + countDropped(events.slice(reported[index])), 0),
      )
      for (const { ends, key } of calls)
        if (key !== undefined) expect(ends.at(-1)).not.toMatch(/^(503|broken)/)
      const ends = calls.flatMap((call) => call.ends)
      expect(ends.some((end) => end.startsWith('503'))).toBe(true)
      expect(tookMs).toBeLessThan(SERVES_WITHIN_MS)

      const [limit] = await admin.limits.list({ ownerId: budget.credentialId })
      expect(limit!.held).toBe(0n)
      expectNearEnd(limit!.used)
      const [perMinute] = await admin.limits.list({ ownerId: rate.credentialId })
      expect(perMinute!.used).toBeLessThanOrEqual(BigInt(PER_MINUTE))
      const { posted, held } = (await admin.accounts.balance(poor))!
      expect(held).toBe(0n)
      expectNearEnd(FEW * COST - posted)

      const credits = (await admin.entries.list({ account: 'operator', limit: 1_000 })).entries
      const references = credits.map(({ reference }) => reference)
      expect(operator.acknowledged.filter((reference) => !references.includes(reference))).toEqual([])
      expect(new Set(references).size).toBe(references.length)

      for (const [index, { events }] of routers.entries()) {
        const types = events.slice(reported[index]).map(({ type }) => type)
        expect(types.filter((type) => type.startsWith('watch-'))).toEqual(['watch-lost', 'watch-restored'])
        expect(types).not.toContain('charge-failed')
        expect(types).not.toContain('claim-lost')
      }
      console.log(
        `round ${round}: ${replies.length} replies, ${ends.filter((end) => end !== '200').length} refusals, served after ${Math.round(tookMs)} ms`,
      )
      if (round < rounds) await cluster.addStandby()
    }
  })

  it('to an asynchronous standby that is behind loses its last charges, and keeps the books sound', {
    timeout: PATIENCE_MS * 3,
  }, async () => {
    const world = await open(false)
    const { tokens } = await issueKeys(world.admin, 0)
    const ports = world.routers.map(({ port }) => port)
    const callers = startCallers({ ports, tokens, callers: CALLERS, seed: 7 })
    await failOverUnderLoad(world, callers, async () => {
      world.cluster.stallReplication()
      const behind = callers.count() + 100
      await expect.poll(() => callers.count(), { timeout: PATIENCE_MS }).toBeGreaterThan(behind)
    })
    const charges = await checkBooks(world, callers.calls)
    const replies = callers.calls.flatMap((call) => call.replies)
    const lost = replies.filter((id) => !charges.has(holdOf(id)))
    expect(lost.length).toBeGreaterThan(0)
    console.log(`${lost.length} of ${replies.length} charges were lost`)
  })
})
