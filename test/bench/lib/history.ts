import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Admin } from 'compat-router/admin'
import type { DurableStores } from 'compat-router/sqlite'
import pg from 'pg'
import { startPostgresServer } from '../../helpers/postgres-server.js'
import { say } from './arguments.js'
import { DAY_MS, FILLED_TO, fillLedger } from './filled-ledger.js'
import { format } from './report.js'
import { markdownTable } from './table.js'

export const ENGINES = ['postgres', 'sqlite'] as const
export type EngineName = (typeof ENGINES)[number]

/** What an operator or a user asks of the history of all calls. */
interface Question {
  readonly name: string
  readonly ask: (admin: Admin) => Promise<unknown>
  /** How often it is asked; the fastest counts. */
  readonly times: number
}

const period = { from: FILLED_TO - 30 * DAY_MS, to: FILLED_TO }
const LIMIT = 50
/** An app of the filled ledger. */
const APP = { id: 'app-7', name: 'App 7' }

const QUESTIONS: readonly Question[] = [
  ...(['day', 'model', 'app', 'provider', 'key'] as const).map(
    (by): Question => ({
      name: `30 days by ${by}`,
      ask: ({ reports }) => reports.spendReport({ by, ...period, limit: LIMIT }),
      times: 3,
    }),
  ),
  {
    name: '1 day by model',
    ask: ({ reports }) => reports.spendReport({ by: 'model', from: FILLED_TO - DAY_MS, to: FILLED_TO }),
    times: 3,
  },
  {
    name: '30 days of one account, by day',
    ask: ({ reports }) => reports.spendReport({ by: 'day', account: 'account-7', ...period }),
    times: 3,
  },
  { name: 'statement of a payer', ask: ({ accounts }) => accounts.statement('account-7'), times: 3 },
  { name: 'statement of the platform', ask: ({ accounts }) => accounts.statement('platform'), times: 1 },
  {
    name: '30 days of an app for its owner',
    ask: ({ reports }) => reports.appFigures({ appId: APP.id, ...period }),
    times: 3,
  },
  { name: 'search by the beginning of a name', ask: ({ find }) => find('account-77'), times: 3 },
  { name: 'newest entries', ask: ({ entries }) => entries.list({ limit: LIMIT }), times: 3 },
  {
    name: 'entries of one key',
    ask: ({ entries }) => entries.list({ credentialId: 'key-7', limit: LIMIT }),
    times: 1,
  },
  {
    name: 'verify',
    async ask({ maintenance }) {
      const [found] = await maintenance.verify()
      if (found !== undefined) throw new Error(`The filled books are wrong: ${found.message}`)
    },
    times: 1,
  },
]

/** Milliseconds by question. */
export type HistoryTimes = ReadonlyMap<string, number>

/** Asks all questions of a filled ledger. */
async function askHistory(admin: Admin): Promise<HistoryTimes> {
  const times = new Map<string, number>()
  for (const { name, ask, times: count } of QUESTIONS) {
    let best = Number.POSITIVE_INFINITY
    for (let turn = 0; turn < count; turn++) {
      const start = performance.now()
      await ask(admin)
      best = Math.min(best, performance.now() - start)
    }
    times.set(name, best)
    say(`  ${name}: ${format(best, 0)} ms`)
  }
  return times
}

export interface HistoryOptions {
  readonly dist: string
  readonly engines: readonly EngineName[]
  /** The numbers of charges, smallest first. */
  readonly sizes: readonly number[]
  /** Where filled databases are kept, and found again; by default, they are removed. */
  readonly folder?: string
}

/** Returns, for each engine, the times by size. */
export async function measureHistory({
  dist,
  engines,
  sizes,
  folder,
}: HistoryOptions): Promise<ReadonlyMap<EngineName, readonly HistoryTimes[]>> {
  const load = (entry: string) => import(pathToFileURL(join(dist, `${entry}.js`)).href)
  const { sqliteStores }: typeof import('compat-router/sqlite') = await load('sqlite')
  const { postgresStores }: typeof import('compat-router/postgres') = await load('postgres')
  const { createAdmin }: typeof import('compat-router/admin') = await load('admin')
  const place = folder ?? mkdtempSync(join(tmpdir(), 'compat-router-history-'))
  mkdirSync(place, { recursive: true })
  // PostgreSQL runs as another user if this one is root.
  chmodSync(place, 0o755)

  async function measure(stores: DurableStores, charges: number): Promise<HistoryTimes> {
    try {
      await stores.ready()
      const admin = createAdmin(stores)
      await fillLedger(stores, admin.maintenance, charges)
      await admin.apps.put({ ...APP, account: 'developer-7', markup: { basisPoints: 0 }, allowedModels: [] })
      return await askHistory(admin)
    } finally {
      await stores.close()
    }
  }

  async function onSqlite(): Promise<HistoryTimes[]> {
    const found: HistoryTimes[] = []
    for (const charges of sizes) {
      say(`sqlite, ${charges} charges`)
      found.push(await measure(sqliteStores({ file: join(place, `charges-${charges}.db`) }), charges))
    }
    return found
  }

  async function onPostgres(): Promise<HistoryTimes[]> {
    const found: HistoryTimes[] = []
    const server = await startPostgresServer([], join(place, 'postgres'))
    try {
      for (const charges of sizes) {
        say(`postgres, ${charges} charges`)
        const database = await findDatabase(server.url(), `charges_${charges}`)
        const pool = new pg.Pool({ connectionString: server.url(database), max: 6 })
        pool.on('error', () => undefined)
        found.push(await measure(postgresStores(pool), charges))
        await pool.end()
      }
    } finally {
      await server.stop()
    }
    return found
  }

  try {
    const found = new Map<EngineName, readonly HistoryTimes[]>()
    for (const engine of engines) found.set(engine, await (engine === 'sqlite' ? onSqlite : onPostgres)())
    return found
  } finally {
    if (folder === undefined) rmSync(place, { recursive: true, force: true })
  }
}

/** Creates the database unless the server has it. */
async function findDatabase(url: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
    if (rowCount === 0) await client.query(`create database ${name}`)
    return name
  } finally {
    await client.end()
  }
}

/** The times of each question by size, and the ratio of the last to the first. */
export function historyTable(sizes: readonly number[], times: readonly HistoryTimes[]): string {
  const head = ['ms', ...sizes.map((size) => format(size, 0)), 'last to first']
  return markdownTable(
    head,
    QUESTIONS.map(({ name }) => {
      const own = times.map((found) => found.get(name)!)
      return [name, ...own.map((ms) => format(ms, 0)), format(own.at(-1)! / own[0]!, 2)]
    }),
  )
}
