import { cachedCredentials, openaiCompatible } from 'compat-router'
import { postgresStores } from 'compat-router/postgres'
import { type DurableStores, type SqliteStoresOptions, sqliteStores } from 'compat-router/sqlite'
import pg from 'pg'
import { readSecretKeys } from './secret-keys.js'
import { type DatabaseSettings, SettingsError } from './settings.js'

export interface OpenDatabase {
  readonly stores: DurableStores
  /** Describes the database, without its password. */
  readonly where: string
  close(): Promise<void>
}

type SharedOptions = Omit<SqliteStoresOptions, 'file'>

const CONNECT_MS = 10_000
const QUIET_MS = 2_000

/** Opens the database and migrates its schema. Throws a {@link SettingsError} that says what to do. */
export async function openDatabase(
  settings: DatabaseSettings,
  log: (line: string) => void,
  onEvent: NonNullable<SharedOptions['onEvent']>,
): Promise<OpenDatabase> {
  const options: SharedOptions = {
    adapters: { openai: openaiCompatible },
    secretKeys: readSecretKeys(settings),
    onEvent,
  }
  const opened =
    settings.kind === 'sqlite' ? openFile(settings.file, options) : openServer(settings, options, log)
  const patience = setTimeout(() => log(`Waiting for the ${opened.where} …`), QUIET_MS)
  try {
    await opened.stores.ready()
  } catch (error) {
    await opened.close().catch(() => undefined)
    throw new SettingsError(whyNot(settings, error))
  } finally {
    clearTimeout(patience)
  }
  // Saves most calls the look-up of their key. A revoked key leaves the cache within a second.
  const credentials = cachedCredentials(opened.stores.credentials)
  return {
    ...opened,
    stores: { ...opened.stores, credentials },
    async close() {
      credentials.close()
      await opened.close()
    },
  }
}

function openFile(file: string, options: SharedOptions): OpenDatabase {
  const stores = sqliteStores({ file, ...options })
  return { stores, where: `SQLite file ${file}`, close: () => stores.close() }
}

type ServerSettings = Extract<DatabaseSettings, { kind: 'postgres' }>

function openServer(
  { url, schema }: ServerSettings,
  options: SharedOptions,
  log: (line: string) => void,
): OpenDatabase {
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: CONNECT_MS })
  // Without a listener, losing an idle connection would end the process.
  pool.on('error', (error) => log(`database connection lost: ${error.message}`))
  const stores = postgresStores(pool, schema === undefined ? options : { ...options, schema })
  return {
    stores,
    where: `PostgreSQL ${placeOf(url)}, schema ${schema ?? 'compat_router'}`,
    async close() {
      await stores.close()
      await pool.end()
    },
  }
}

function placeOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

function whyNot(settings: DatabaseSettings, error: unknown): string {
  const { code = '', message } = firstOf(error)
  if (settings.kind === 'sqlite') return whyNotFile(settings.file, code, message)
  const place = `PostgreSQL ${placeOf(settings.url)}`
  const known: Record<string, string> = {
    '28P01': `${place} refuses this user and password. Correct DATABASE_URL.`,
    '28000': `${place} refuses this user. Correct DATABASE_URL, or pg_hba.conf.`,
    '3D000': `${place} does not exist: the server has no database of this name. Create it, or correct DATABASE_URL.`,
    '42501': `${place} does not let this user create a schema. Run: grant create on database … to …`,
  }
  return (
    known[code] ??
    `${place} cannot be used (${message || code}). Check DATABASE_URL, and that the server is running. Without DATABASE_URL, an SQLite file is used.`
  )
}

function whyNotFile(file: string, code: string, message: string): string {
  const elsewhere = 'or name another file in COMPAT_ROUTER_FILE'
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) {
    return `${file} is not an SQLite database, or is damaged. Restore a backup, move the file away to start afresh, ${elsewhere}.`
  }
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
    return `${file} is locked by another program. Close that program, ${elsewhere}.`
  }
  return `${file} cannot be used (${message}). Check its folder, its owner and the free space on the disk, ${elsewhere}.`
}

/** If a host has several addresses, Node throws one error that contains one for each address. */
function firstOf(error: unknown): { code?: string; message: string } {
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first instanceof Error ? first : { message: String(first) }
}
