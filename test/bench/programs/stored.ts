/**
 * The same router several times in one process, each on other stores. Two processes of one build differ by more than the
 * cost of keeping calls.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CompatRouter } from 'compat-router'
import type { DurableStores } from 'compat-router/sqlite'
import type { CallStore } from 'compat-router/stores'
import pg from 'pg'
import { type PostgresServer, startPostgresServer } from '../../helpers/postgres-server.js'
import type { CpuUsage, StoredName, StoredReady, StoredSetup } from '../lib/messages.js'
import { MODEL, MOUNT, UPSTREAM_MODEL } from '../lib/names.js'
import { cpuSecondsAt, familyOf, parentOf, threadMicroseconds, threadsOf } from '../lib/process-usage.js'
import { createRouter } from '../lib/router-under-test.js'
import { ownCpuUsage, readSetup, serve } from '../lib/serve.js'

/** Keeps nothing, like a host that does not want calls to be kept. */
const NO_CALLS: CallStore = {
  record: () => undefined,
  find: async () => undefined,
  list: async () => ({ calls: [] }),
}
const PRICES = { input: '0.15', output: '0.60', cachedInput: '0.075', request: '0.0001' }
const PLENTY = '1000000000'
const SECRET_KEY = '5'.repeat(64)

const setup = readSetup<StoredSetup>()
const load = (entry: string) => import(pathToFileURL(join(setup.dist, `${entry}.js`)).href)
const {
  cachedCatalogue,
  cachedCredentials,
  createCompatRouter,
  openaiCompatible,
}: typeof import('compat-router') = await load('index')
const { sqliteStores }: typeof import('compat-router/sqlite') = await load('sqlite')
const { postgresStores }: typeof import('compat-router/postgres') = await load('postgres')
const { createAdmin }: typeof import('compat-router/admin') = await load('admin')

const options = {
  adapters: { openai: openaiCompatible },
  secretKeys: [{ id: 'bench', key: SECRET_KEY }],
}
const folder = mkdtempSync(join(tmpdir(), 'compat-router-bench-'))
const isOnPostgres = setup.names.some((name) => name.startsWith('on-postgres'))
const server: PostgresServer | undefined =
  isOnPostgres && !process.env.DATABASE_URL ? await startPostgresServer() : undefined
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL || server?.url(), max: 10 })
// Idle connections break when the server stops.
pool.on('error', () => undefined)

const opened: DurableStores[] = []
/** The threads that SQLite runs in. */
const databaseThreads: string[] = []
const tokens: Partial<Record<StoredName, string>> = {}

async function openStores(name: StoredName): Promise<DurableStores> {
  const isSqlite = name.startsWith('on-sqlite')
  const before = threadsOf(process.pid)
  const stores = isSqlite
    ? sqliteStores({ file: join(folder, `${name}.db`), ...options })
    : postgresStores(pool, { schema: name.replaceAll('-', '_'), ...options })
  opened.push(stores)
  await stores.ready()
  if (isSqlite) databaseThreads.push(...threadsOf(process.pid).filter((thread) => !before.includes(thread)))
  return stores
}

/** The parent of its checkpointer is the server. */
async function findServer(): Promise<number | undefined> {
  const { rows } = await pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = 'checkpointer'",
  )
  return rows[0] && parentOf(rows[0].pid)
}

async function createStored(name: StoredName): Promise<CompatRouter> {
  const basePath = `/${name}${MOUNT}`
  if (name === 'on-memory') return (await createRouter(setup, { basePath })).router
  const stores = await openStores(name)
  const admin = createAdmin(stores)
  await admin.models.put({ id: MODEL, prices: PRICES })
  await admin.routes.put({
    id: 'upstream',
    model: MODEL,
    provider: 'upstream',
    adapter: 'openai',
    upstreamModel: UPSTREAM_MODEL,
    settings: { baseUrl: `http://127.0.0.1:${setup.upstreamPort}/v1` },
    secret: 'sk-upstream-bench',
  })
  await admin.accounts.credit({ account: 'account', amount: PLENTY, reference: 'bench' })
  tokens[name] = (await admin.keys.issue({ account: 'account' })).token
  return createCompatRouter({
    stores,
    basePath,
    credentials: cachedCredentials(stores.credentials),
    catalogue: cachedCatalogue(stores.catalogue),
    ...(name.endsWith('-without-calls') && { calls: NO_CALLS }),
  })
}

const routers = new Map<string, CompatRouter>()
for (const name of setup.names) routers.set(name, await createStored(name))

const serverId = isOnPostgres ? await findServer() : undefined

const listening = createServer((req, res) => {
  const router = routers.get(req.url!.slice(1, req.url!.indexOf('/', 1)))
  if (router === undefined) res.writeHead(404).end()
  else router(req, res)
})

function usage(): CpuUsage {
  const threads = sum(databaseThreads.map(threadMicroseconds))
  const server = serverId === undefined ? 0 : sum(familyOf(serverId).map(cpuSecondsAt)) * 1e6
  return {
    microseconds: ownCpuUsage().microseconds - threads,
    databaseMicroseconds: threads + server,
  }
}

function sum(values: readonly number[]): number {
  // A process of the server may have ended since it was found.
  return values.reduce((total, value) => (Number.isNaN(value) ? total : total + value), 0)
}

async function close(): Promise<void> {
  listening.close()
  listening.closeIdleConnections()
  await Promise.all([...routers.values()].map((router) => router.close()))
  await Promise.all(opened.map((stores) => stores.close()))
  await pool.end()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}

// Otherwise a connection that has had nothing to do for a while may be closed just when it gets a request.
listening.keepAliveTimeout = 0
listening.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const { port } = listening.address() as AddressInfo
  const ready: StoredReady = { port, tokens, ...(serverId !== undefined && { serverId }) }
  serve<{ kind: 'usage' | 'close' }>(ready, ({ kind }) => (kind === 'usage' ? usage() : close()))
})
