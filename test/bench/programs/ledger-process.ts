/** One of several processes on one PostgreSQL ledger: concurrent pairs of hold and settlement. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { createIdSource } from '../../../src/base/ids.js'
import type { ProcessJob, ProcessResult, ProcessSetup } from '../lib/messages.js'
import { readSetup, serve } from '../lib/serve.js'

const MODELS = 20
const HOLD_MS = 600_000
const NEVER = new AbortController().signal
const USAGE = { prompt: 19, cached: 0, cacheWrite: 0, completion: 21, reasoning: 0 }
const CHARGE = {
  cost: 1_000n,
  base: 900n,
  markup: 100n,
  basis: 'reported',
  byok: false,
  usage: USAGE,
} as const

const { dist, databaseUrl, schema, accounts, callers } = readSetup<ProcessSetup>()
const { postgresStores } = (await import(
  pathToFileURL(join(dist, 'postgres.js')).href
)) as typeof import('compat-router/postgres')
const pool = new pg.Pool({ connectionString: databaseUrl, max: 6 })
const { ledger, ready } = postgresStores(pool, { schema })
await ready()
// The requests of the router.
const createId = createIdSource()

async function pair(): Promise<void> {
  const account = `account-${Math.floor(Math.random() * accounts)}`
  const holdId = createId()
  const model = `model-${Math.floor(Math.random() * MODELS)}`
  const facts = { requestId: holdId, account, credentialId: `key-${account}`, model, appId: 'app' }
  const context = { requestId: holdId, signal: NEVER }
  const held = await ledger.hold({ holdId, account, amount: 4_000n, ttlMs: HOLD_MS, facts }, context)
  if (!held.ok) throw new Error(`a hold was refused: ${held.reason}`)
  const postings = [
    { account, amount: -1_000n },
    { account: 'platform', amount: 900n },
    { account: 'app', amount: 100n },
  ]
  await ledger.settle({ holdId, charge: CHARGE, postings, facts }, context)
}

async function measure({ warmMs, measureMs }: ProcessJob): Promise<ProcessResult> {
  const from = performance.now()
  const until = from + warmMs + measureMs
  let pairs = 0
  async function call(): Promise<void> {
    while (performance.now() < until) {
      await pair()
      const now = performance.now()
      if (now >= from + warmMs && now < until) pairs++
    }
  }
  let before = process.cpuUsage()
  setTimeout(() => {
    before = process.cpuUsage()
  }, warmMs)
  let used = process.cpuUsage()
  setTimeout(() => {
    used = process.cpuUsage(before)
  }, warmMs + measureMs)
  await Promise.all(Array.from({ length: callers }, call))
  return { pairs, cpuSeconds: (used.user + used.system) / 1e6 }
}

serve<ProcessJob>({}, measure)
