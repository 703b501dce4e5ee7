/** A ledger alone: concurrent pairs of hold and settlement, each waiting for the previous one. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Charge, LedgerStore } from 'compat-router/stores'
import pg from 'pg'
import type { LedgerJob } from '../lib/messages.js'
import { serve } from '../lib/serve.js'

interface OpenLedger {
  readonly ledger: LedgerStore
  close(): Promise<void>
}

const PLENTY = 1_000_000_000_000_000_000n
const HOLD_MS = 600_000
const WARM_MS = 500

async function load<Module>(dist: string, name: string): Promise<Module> {
  return (await import(pathToFileURL(join(dist, `${name}.js`)).href)) as Module
}

async function openLedger({ store, dist, databaseUrl }: LedgerJob): Promise<OpenLedger> {
  if (store === 'memory') {
    const { memoryLedger } = await load<typeof import('compat-router')>(dist, 'index')
    return { ledger: memoryLedger(), close: async () => undefined }
  }
  if (store === 'sqlite') {
    const { sqliteStores } = await load<typeof import('compat-router/sqlite')>(dist, 'sqlite')
    const folder = await mkdtemp(join(tmpdir(), 'compat-router-bench-'))
    const stores = sqliteStores({ file: join(folder, 'ledger.db') })
    return {
      ledger: stores.ledger,
      async close() {
        await stores.close()
        await rm(folder, { recursive: true })
      },
    }
  }
  const { postgresStores } = await load<typeof import('compat-router/postgres')>(dist, 'postgres')
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 })
  const schema = `bench_${randomUUID().replaceAll('-', '')}`
  const stores = postgresStores(pool, { schema })
  await stores.ready()
  return {
    ledger: stores.ledger,
    async close() {
      await stores.close()
      await pool.query(`drop schema ${schema} cascade`)
      await pool.end()
    },
  }
}

async function measure(job: LedgerJob): Promise<number> {
  const { ledger, close } = await openLedger(job)
  try {
    for (let account = 0; account < job.accounts; account += job.callers) {
      const names = Array.from(
        { length: Math.min(job.callers, job.accounts - account) },
        (_, n) => n + account,
      )
      await Promise.all(names.map((number) => fund(ledger, `account-${number}`)))
    }
    await run(ledger, job, WARM_MS)
    return await run(ledger, job, job.measureMs)
  } finally {
    await close()
  }
}

/** Pairs per second. */
async function run(ledger: LedgerStore, { callers, accounts }: LedgerJob, forMs: number): Promise<number> {
  const from = performance.now()
  let pairs = 0
  async function call(caller: number): Promise<void> {
    for (let round = caller; performance.now() - from < forMs; round += callers) {
      await pair(ledger, `account-${round % accounts}`)
      pairs++
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  return (pairs / (performance.now() - from)) * 1_000
}

async function pair(ledger: LedgerStore, account: string): Promise<void> {
  const requestId = randomUUID()
  const facts = { requestId, account, credentialId: 'bench', model: 'bench' }
  const context = { requestId, signal: NEVER }
  const held = await ledger.hold(
    { holdId: requestId, account, amount: 4_000n, ttlMs: HOLD_MS, facts },
    context,
  )
  if (!held.ok) throw new Error(`a hold was refused: ${held.reason}`)
  const postings = [
    { account, amount: -1_000n },
    { account: 'platform', amount: 1_000n },
  ]
  await ledger.settle({ holdId: requestId, charge: charge(1_000n), postings, facts }, context)
}

async function fund(ledger: LedgerStore, account: string): Promise<void> {
  const requestId = randomUUID()
  const facts = { requestId, account, credentialId: 'bench', model: 'bench' }
  const share = PLENTY / 1_000n
  const postings = [
    { account, amount: share },
    { account: 'bank', amount: -share },
  ]
  const context = { requestId, signal: NEVER }
  await ledger.settle({ holdId: requestId, charge: charge(0n), postings, facts }, context)
}

const NEVER = new AbortController().signal

function charge(cost: bigint): Charge {
  const usage = { prompt: 19, cached: 0, cacheWrite: 0, completion: 21, reasoning: 0 }
  return { cost, base: cost, markup: 0n, basis: 'reported', byok: false, usage }
}

serve<LedgerJob>({}, measure)
