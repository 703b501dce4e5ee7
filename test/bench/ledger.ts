import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { createIdSource } from '../../src/base/ids.js'
import type { HoldLimit, HoldRequest, LimitUse, SettleRequest } from '../../src/contracts/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { ENTRY_COLUMNS } from '../../src/sql/entry-rows.js'
import { toHoldCommand, toSettleCommand } from '../../src/sql/ledger-commands.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { createWorkerClient } from '../../src/sqlite/worker-client.js'
import { context, createCharge, createFacts } from '../helpers/ledger-requests.js'
import { createPool } from '../helpers/postgres.js'
import { startPostgresServer } from '../helpers/postgres-server.js'

// npm run bench:ledger -- [rounds] [seconds]
// Measures pairs of hold and settlement per second for 200 callers on both engines, in interleaved rounds of one run:
// calls grouped in a commit, compared with one commit for each, and with two limits for each call. Only the ratios mean anything, since rates drift with
// the machine. Needs a build (for the SQLite worker).

const CALLERS = 200
const ACCOUNTS = 1_000
const CREDIT = 10n ** 15n
// The requests of the router.
const createId = createIdSource()
const rounds = Number(process.argv[2] ?? 3)
const seconds = Number(process.argv[3] ?? 2)

interface System {
  readonly name: string
  /** Whether each call keeps two limits. */
  readonly hasLimits?: boolean
  hold(request: HoldRequest): Promise<unknown>
  settle(request: SettleRequest): Promise<unknown>
}

const WINDOWS: HoldLimit['windows'] = [[0, 8_640_000_000_000_000]]

/** A budget and a rate of the account. */
function limitsOf(account: string): {
  readonly held: readonly HoldLimit[]
  readonly used: readonly LimitUse[]
} {
  const [budget, rate] = [`${account}:credits/total`, `${account}:requests/total`]
  return {
    held: [
      { bucket: budget, unit: 'credits', limit: CREDIT, amount: 1_000n, windows: WINDOWS },
      { bucket: rate, unit: 'requests', limit: CREDIT, amount: 1n, windows: WINDOWS },
    ],
    used: [
      { bucket: budget, unit: 'credits', from: 0, used: 700n },
      { bucket: rate, unit: 'requests', from: 0, used: 1n },
    ],
  }
}

async function measure(system: System, accounts: number): Promise<number> {
  let pairs = 0
  let isOver = false
  let next = 0
  const call = async () => {
    while (!isOver) {
      next = (next + 7_919) % accounts
      const account = `account-${next}`
      const facts = createFacts(account, {
        provider: 'openai',
        routeId: 'openai:acme/fast',
        sessionId: 'session-1',
      })
      const holdId = createId()
      const limits = system.hasLimits ? limitsOf(account) : undefined
      await system.hold({
        ...{ holdId, account, amount: 1_000n, ttlMs: 60_000, facts },
        ...(limits !== undefined && { limits: limits.held }),
      })
      await system.settle({
        holdId,
        charge: createCharge(700n, { base: 600n, markup: 100n, priceVersion: 'v1' }),
        postings: [
          { account, amount: -700n },
          { account: 'platform', amount: 600n },
          { account: 'app', amount: 100n },
        ],
        facts,
        ...(limits !== undefined && { limits: limits.used }),
      })
      pairs++
    }
  }
  const start = performance.now()
  const timer = setTimeout(() => {
    isOver = true
  }, seconds * 1_000)
  await Promise.all(Array.from({ length: CALLERS }, call))
  clearTimeout(timer)
  return (pairs * 1_000) / (performance.now() - start)
}

function grouped(name: string, { ledger }: DurableStores): System {
  return {
    name,
    async hold(request) {
      const held = await ledger.hold(request, context)
      if (!held.ok) throw new Error(held.reason)
    },
    settle: async (request) => ledger.settle(request, context),
  }
}

async function fill({ database }: DurableStores): Promise<void> {
  await database.batch(
    Array.from({ length: ACCOUNTS }, (_, index) => ({
      text: 'insert into {accounts} (id, posted, created_at) values (?1, ?2, 0)',
      parameters: [`account-${index}`, CREDIT],
    })),
  )
}

/** The obvious first version: one statement for each call, on a pool of ten. */
function singlePostgres(pool: pg.Pool): System {
  const columns = ENTRY_COLUMNS.join(', ')
  const values = ENTRY_COLUMNS.map((_, index) => `$${index + 2}`).join(', ')
  const now = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'
  /** The order in which the last update locks its rows is undefined, so two settlements may deadlock. */
  async function again(query: pg.QueryConfig): Promise<void> {
    for (;;) {
      try {
        await pool.query(query)
        return
      } catch (error) {
        if ((error as { code?: unknown }).code !== '40P01') throw error
      }
    }
  }

  return {
    name: 'PostgreSQL, one by one',
    async hold(request) {
      const { holdId, account, amount, ttlMs, facts } = toHoldCommand(request)
      const { rowCount } = await pool.query({
        name: 'hold',
        text: `with a as (
            update compat_router.accounts set held = held + $3 where id = $2 and posted - held >= $3 returning id
          ) insert into compat_router.holds (id, account, amount, state, expires_at, facts)
          select $1, id, $3, 0, ${now} + $4, $5 from a`,
        values: [holdId, account, amount, ttlMs, facts],
      })
      if (rowCount !== 1) throw new Error('insufficient')
    },
    async settle(request) {
      const { entry, postings } = toSettleCommand(request)
      const [payer, platform, app] = postings
      const at = ENTRY_COLUMNS.length + 2
      await again({
        name: 'settle',
        text: `with h as (
            update compat_router.holds set state = 2, ended_at = ${now}, entry_id = nextval('compat_router.entries_id_seq')
            where id = $1 and state = 0 returning account, amount, entry_id, ended_at
          ), e as (
            insert into compat_router.entries (id, at, kind, ${columns}) overriding system value
            select entry_id, ended_at, 'charge', ${values} from h
          ), p as (
            insert into compat_router.postings (account, at, entry_id, amount)
            select v.account, h.ended_at, h.entry_id, v.amount
            from h, (values ($${at}::text, $${at + 1}::bigint), ($${at + 2}, $${at + 3}), ($${at + 4}, $${at + 5})) v(account, amount)
          )
          update compat_router.accounts a
          set posted = a.posted + v.amount, held = a.held - case when a.id = h.account then h.amount else 0 end
          from h, (values ($${at}::text, $${at + 1}::bigint), ($${at + 2}, $${at + 3}), ($${at + 4}, $${at + 5})) v(account, amount)
          where a.id = v.account`,
        values: [request.holdId, ...entry, ...[payer, platform, app].flatMap((p) => [p!.account, p!.amount])],
      })
    },
  }
}

/** One transaction for each call, in the same thread and with the same code. */
function singleSqlite(file: string): System & { close(): Promise<void> } {
  const worker = createWorkerClient(file, { isUpToDate: false })
  return {
    name: 'SQLite, one by one',
    hold: (request) => worker.ask({ kind: 'ledger', commands: [toHoldCommand(request)] }),
    settle: (request) => worker.ask({ kind: 'ledger', commands: [toSettleCommand(request)] }),
    close: worker.close,
  }
}

const folder = mkdtempSync(join(tmpdir(), 'compat-router-bench-'))
const server = await startPostgresServer(['-c', 'max_connections=50'])
const pool = createPool(server.url(), 10)
const postgres = postgresStores(pool)
const sqlite = sqliteStores({ file: join(folder, 'bench.db') })
const single = singleSqlite(join(folder, 'bench.db'))
try {
  await Promise.all([fill(postgres), fill(sqlite)])
  await pool.query("insert into compat_router.accounts (id, created_at) values ('platform', 0), ('app', 0)")
  const pairs = [
    [grouped('PostgreSQL, grouped', postgres), singlePostgres(pool)],
    [grouped('SQLite, grouped', sqlite), single],
  ] as const
  const limited = pairs.map(([together]) => ({
    ...together,
    name: `${together.name}, two limits`,
    hasLimits: true,
  }))
  const rates = new Map<string, number[]>()
  for (let round = 0; round <= rounds; round++) {
    for (const accounts of [1, ACCOUNTS]) {
      for (const system of [...pairs.flat(), ...limited]) {
        const rate = await measure(system, accounts)
        const key = `${system.name} ${accounts}`
        // The first round warms up.
        if (round > 0) rates.set(key, [...(rates.get(key) ?? []), rate])
      }
    }
  }
  const medianOf = (name: string, accounts: number) => {
    const sorted = (rates.get(`${name} ${accounts}`) ?? []).sort((first, second) => first - second)
    return sorted[sorted.length >> 1]!
  }
  console.table(
    pairs.flatMap(([together, alone]) =>
      [1, ACCOUNTS].map((accounts) => ({
        engine: together.name.split(',')[0],
        accounts,
        'grouped, pairs/s': Math.round(medianOf(together.name, accounts)),
        'one by one, pairs/s': Math.round(medianOf(alone.name, accounts)),
        ratio: Number((medianOf(together.name, accounts) / medianOf(alone.name, accounts)).toFixed(1)),
        'with two limits': Number(
          (medianOf(`${together.name}, two limits`, accounts) / medianOf(together.name, accounts)).toFixed(2),
        ),
      })),
    ),
  )
  const memory = process.memoryUsage()
  console.log(
    `this process: ${Math.round(memory.rss / 2 ** 20)} MiB resident (both SQLite threads in it), heap ${Math.round(memory.heapUsed / 2 ** 20)} MiB`,
  )
} finally {
  await Promise.all([postgres.close(), sqlite.close(), single.close()])
  await pool.end()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
