import { randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'libsql'
import type { Cell, Row, Statement } from '../sql/database.js'
import { nameTables } from '../sql/database.js'
import { isBusy } from './faults.js'

/** A prepared statement. Integers are bigint. */
export interface Prepared {
  /** Returns the first row's cells in order, or undefined if there is no row. */
  first(parameters: readonly unknown[]): readonly Cell[] | undefined
  /** Returns the number of changed rows. */
  run(parameters: readonly unknown[]): number
  rows(parameters: readonly unknown[]): readonly Row[]
}

/** One connection to the file, used by one thread. Everything is synchronous. */
export interface Connection {
  prepare(text: string): Prepared
  exec(text: string): void
  /** Runs the body between `begin immediate` and `commit`. If it throws, everything is rolled back. */
  transaction<Result>(body: () => Result): Result
  batch(statements: readonly Statement[]): readonly (readonly Row[])[]
  close(): void
}

const BUSY_TIMEOUT_MS = 5_000
const OPEN_PATIENCE_MS = 15_000
const KEPT_STATEMENTS = 200
const TABLE_PREFIX = 'compat_'

export function tableName(table: string): string {
  return `${TABLE_PREFIX}${table}`
}

/**
 * Opens the file, or creates it, readable only by its owner. If `isDurable` is false, a commit may be lost with the
 * machine's power, but not with the process.
 */
export function openConnection(file: string, isDurable = true): Connection {
  makeFile(file)
  const database = openFile(file)
  try {
    configure(database, isDurable)
    return toConnection(database)
  } catch (error) {
    database.close()
    const { code } = error as { code?: unknown }
    if (code !== 'SQLITE_NOTADB') throw error
    const named = new Error(`The SQLite file ${file} cannot be opened: it is not a database`, {
      cause: error,
    })
    throw Object.assign(named, { code })
  }
}

/** Adds a reason to the driver's error, which has only a number. */
function openFile(file: string): Database.Database {
  try {
    return new Database(file)
  } catch (cause) {
    throw new Error(`The SQLite file ${file} cannot be opened: ${reasonOf(file, cause)}`, { cause })
  }
}

function reasonOf(file: string, cause: unknown): string {
  try {
    if (statSync(file).isDirectory()) return 'it is a folder'
    accessSync(file, constants.R_OK | constants.W_OK)
    return String(cause)
  } catch (error) {
    return (error as Error).message
  }
}

function configure(database: Database.Database, isDurable: boolean): void {
  database.defaultSafeIntegers(true)
  database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  // Switching a new file to WAL takes a lock that the busy timeout does not wait for.
  retryWhileBusy(() => database.exec('pragma journal_mode = wal'))
  database.exec(`pragma synchronous = ${isDurable ? 'full' : 'normal'}`)
  // The same pages change repeatedly. With a checkpoint every 32 MiB instead of every 4, most are copied back once.
  database.exec('pragma wal_autocheckpoint = 8000')
  database.exec('pragma cache_size = -32768')
  database.exec('pragma journal_size_limit = 67108864')
}

/**
 * Creates an empty file, which is a valid database, under another name. When a process closes any descriptor of a file,
 * POSIX drops all its locks on that file. So a file that SQLite has open must never be opened and closed elsewhere:
 * another process would mistake its own connection for the last one, and remove the log that this process still writes
 * to.
 */
function makeFile(file: string): void {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) return
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) {
    makeFile(resolve(realpathSync(dirname(file)), readlinkSync(file)))
    return
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomUUID()}`
  closeSync(openSync(draft, 'wx', 0o600))
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
}

function toConnection(database: Database.Database): Connection {
  const kept = new Map<string, Prepared>()

  function prepare(text: string): Prepared {
    const known = kept.get(text)
    if (known !== undefined) return known
    if (kept.size >= KEPT_STATEMENTS) kept.clear()
    const prepared = toPrepared(database.prepare(nameTables(text, tableName)))
    kept.set(text, prepared)
    return prepared
  }

  const begin = prepare('begin immediate')
  const commit = prepare('commit')

  function transaction<Result>(body: () => Result): Result {
    begin.run([])
    try {
      const result = body()
      commit.run([])
      return result
    } catch (error) {
      // SQLite rolls back some transactions by itself, for example if the disk is full.
      if (database.inTransaction) database.exec('rollback')
      throw error
    }
  }

  return {
    prepare,
    exec: (text) => {
      database.exec(nameTables(text, tableName))
    },
    transaction,
    batch(statements) {
      const run = () => statements.map(({ text, parameters = [] }) => prepare(text).rows(parameters))
      return statements.length === 1 ? run() : transaction(run)
    },
    close: () => {
      database.close()
    },
  }
}

function toPrepared(statement: Database.Statement): Prepared {
  const isReader = statement.reader
  const columns = isReader ? statement.columns().map((column) => column.name) : []
  if (isReader) statement.raw(true)
  return {
    first: (parameters) => statement.get(parameters) as readonly Cell[] | undefined,
    run: (parameters) => statement.run(parameters).changes,
    rows(parameters) {
      if (!isReader) {
        statement.run(parameters)
        return []
      }
      return (statement.all(parameters) as readonly (readonly Cell[])[]).map((cells) => toRow(columns, cells))
    },
  }
}

function toRow(columns: readonly string[], cells: readonly Cell[]): Row {
  const row: Record<string, Cell> = {}
  for (let index = 0; index < columns.length; index++) row[columns[index]!] = cells[index] ?? null
  return row
}

/** Retries while another process holds the lock. Blocks the thread. */
export function retryWhileBusy<Result>(body: () => Result): Result {
  const until = performance.now() + OPEN_PATIENCE_MS
  const cell = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    try {
      return body()
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error
      Atomics.wait(cell, 0, 0, 20)
    }
  }
}
