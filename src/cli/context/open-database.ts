import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { postgresStores } from '../../postgres/index.js'
import type { SecretKey } from '../../sql/secret-box.js'
import type { DurableStores } from '../../sql/stores.js'
import { sqliteStores } from '../../sqlite/index.js'

type Environment = Readonly<Record<string, string | undefined>>

export interface DatabaseOptions {
  /** The SQLite file. Used unless the environment names a PostgreSQL server, or if it is an argument. */
  readonly file: string
  /** Whether the file is an argument. Then it is used even if the environment names a server for other programs. */
  readonly isFileArgument: boolean
  /** The schema on the PostgreSQL server. */
  readonly schema: string
}

export interface OpenDatabase {
  readonly stores: DurableStores
  /** A description of the database, without its password. */
  readonly where: string
  /** Set if the file or the tables are new: says so, and how to name another database. */
  readonly note?: string
  close(): Promise<void>
}

const ANSWER_MS = 15_000
const PROTOCOLS = ['postgres:', 'postgresql:', 'socket:']

/**
 * Rejects if the environment and the options name a SQLite file that does not exist, or a file or a PostgreSQL schema
 * without tables. So a mistyped name neither creates an empty database nor changes another program's database. Any
 * other fault is reported when the database is opened.
 */
export async function requireDatabase(env: Environment, options: DatabaseOptions): Promise<void> {
  const { file, schema } = options
  const url = serverUrl(env, options)
  if (url === undefined) await requireTablesOfFile(file)
  else await requireTablesOfSchema(url, schema)
}

async function requireTablesOfFile(file: string): Promise<void> {
  // A server's address may contain a password. The stores refuse it without showing it.
  if (file === '' || file.includes('://')) return
  try {
    await stat(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') return
    throw new Error(
      `There is no SQLite file ${resolve(file)}. Name another with --file or COMPAT_ROUTER_FILE, or a PostgreSQL database with DATABASE_URL; to create this one, run compat-router maintenance migrate with the same settings.`,
    )
  }
  if (await hasTables(file)) return
  throw new Error(
    `The SQLite file ${resolve(file)} has no tables of compat-router. Name another with --file or COMPAT_ROUTER_FILE, or a PostgreSQL database with DATABASE_URL; to create them in this one, run compat-router maintenance migrate with the same settings.`,
  )
}

/** Returns whether the file has our tables. Also true if it cannot be read, or if `libsql` is missing. Writes nothing. */
async function hasTables(file: string): Promise<boolean> {
  try {
    const { default: Database } = await import('libsql')
    const database = new Database(file)
    try {
      database.exec(`pragma busy_timeout = ${ANSWER_MS}`)
      const found = database
        .prepare("select 1 from sqlite_master where type = 'table' and name = 'compat_migrations'")
        .get()
      return found !== undefined
    } finally {
      database.close()
    }
  } catch {
    return true
  }
}

async function requireTablesOfSchema(url: string, schema: string): Promise<void> {
  if (await hasTablesOfSchema(url, schema)) return
  throw new Error(
    `${describeServer(url, schema)}, has no tables of compat-router. Name another schema with --schema or COMPAT_ROUTER_SCHEMA, or another database with DATABASE_URL; to create them in this one, run compat-router maintenance migrate with the same settings.`,
  )
}

async function hasTablesOfSchema(url: string, schema: string): Promise<boolean> {
  const pg = await loadPg()
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query(
      `select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       where n.nspname = $1 and c.relname = 'migrations'`,
      [schema],
    )
    return rows.length > 0
  } finally {
    await client.end()
  }
}

/** Opens the database that the environment and the options name, and migrates it. */
export async function openDatabase(env: Environment, options: DatabaseOptions): Promise<OpenDatabase> {
  const secretKeys = readSecretKeys(env.COMPAT_ROUTER_SECRET_KEYS)
  const url = serverUrl(env, options)
  const open =
    url === undefined ? openFile(options.file, secretKeys) : await openServer(url, options.schema, secretKeys)
  try {
    await open.stores.ready()
  } catch (error) {
    await open.close()
    throw error
  }
  return open
}

/** Checks the address here, because the package `pg` accepts any text and then looks up an unrelated host. */
function serverUrl(
  { DATABASE_URL: url }: Environment,
  { isFileArgument }: DatabaseOptions,
): string | undefined {
  if (isFileArgument || url === undefined || url === '') return undefined
  if (!URL.canParse(url) || !PROTOCOLS.includes(new URL(url).protocol)) {
    throw new TypeError(
      'DATABASE_URL must be the address of a PostgreSQL database, such as postgres://user:password@localhost:5432/credits, with characters other than letters and digits in a password percent-encoded. Unset it to use a SQLite file.',
    )
  }
  return url
}

function openFile(file: string, secretKeys: readonly SecretKey[]): OpenDatabase {
  const isNew = !existsSync(file)
  const stores = sqliteStores({ file, secretKeys })
  return {
    stores,
    where: `SQLite file ${file}`,
    ...(isNew && {
      note: `${resolve(file)} is a new SQLite file. To use another, name it with --file or COMPAT_ROUTER_FILE, or a PostgreSQL database with DATABASE_URL.`,
    }),
    close: () => stores.close(),
  }
}

async function openServer(
  url: string,
  schema: string,
  secretKeys: readonly SecretKey[],
): Promise<OpenDatabase> {
  const pg = await loadPg()
  const isNew = !(await hasTablesOfSchema(url, schema))
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => undefined)
  const stores = postgresStores(pool, { schema, secretKeys })
  return {
    stores,
    where: describeServer(url, schema),
    ...(isNew && {
      note: `${describeServer(url, schema)}, has new tables. To use others, name another schema with --schema or COMPAT_ROUTER_SCHEMA, or another database with DATABASE_URL.`,
    }),
    async close() {
      await stores.close()
      await pool.end()
    },
  }
}

async function loadPg() {
  const { default: pg } = await import('pg').catch((cause: unknown) => {
    throw new Error('DATABASE_URL needs the package pg: npm install pg', { cause })
  })
  return pg
}

function describeServer(url: string, schema: string): string {
  const { host, pathname } = new URL(url)
  return `PostgreSQL ${host}${pathname}, schema ${schema}`
}

/** Parses `id:key` pairs, separated by commas, the current one first. */
function readSecretKeys(text = ''): readonly SecretKey[] {
  return text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => {
      const colon = pair.indexOf(':')
      if (colon < 1)
        throw new TypeError('COMPAT_ROUTER_SECRET_KEYS must be id:key,id:key with keys of 32 bytes each')
      return { id: pair.slice(0, colon), key: pair.slice(colon + 1) }
    })
}
