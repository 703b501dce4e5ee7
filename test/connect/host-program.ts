/** A host in a process of its own: a router and Connect on a given port. Prints a line when it listens. */
import { createServer } from 'node:http'
import { cachedCredentials, createCompatRouter, openaiCompatible } from 'compat-router'
import { createConnect } from 'compat-router/connect'
import { postgresStores } from 'compat-router/postgres'
import { sqliteStores } from 'compat-router/sqlite'
import pg from 'pg'
import { SECRET, userOf } from './users.js'

export interface HostSettings {
  readonly engine: 'SQLite' | 'PostgreSQL'
  /** A file, or the URL of a database. */
  readonly place: string
  readonly port: number
  /** The public address of the host, which may be that of another process. */
  readonly origin: string
}

const { engine, origin, place, port } = JSON.parse(process.argv[2]!) as HostSettings
const options = { adapters: { openai: openaiCompatible }, secretKeys: [{ id: 'one', key: '07'.repeat(32) }] }
const stores =
  engine === 'SQLite'
    ? sqliteStores({ file: place, ...options })
    : postgresStores(new pg.Pool({ connectionString: place }), options)
const connect = createConnect({
  url: `${origin}/connect`,
  router: `${origin}/compat/v1`,
  stores,
  authenticate: userOf,
  signIn: () => `${origin}/login`,
  secrets: [SECRET],
  host: { name: 'Acme' },
  cap: { suggested: '5' },
})
await connect.ready
const router = createCompatRouter({
  stores,
  credentials: cachedCredentials(stores.credentials),
  basePath: '/compat/v1',
  onEvent: false,
})
createServer((req, res) => connect(req, res, () => router(req, res))).listen(port, '127.0.0.1', () =>
  process.stdout.write('listening\n'),
)
