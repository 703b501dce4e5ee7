import { APPLIED, type Migration, migrationsTable, pendingMigrations } from '../sql/migrations.js'
import { type SchemaWords, tables } from '../sql/tables.js'
import { type Connection, retryWhileBusy, tableName } from './connection.js'

/** In strict tables, an integer beyond 64 bits is an error and not a double. */
const WORDS: SchemaWords = {
  name: 'text',
  integer: 'integer',
  serial: 'integer primary key',
  keyed: 'strict, without rowid',
  busy: 'strict',
  busyKeyed: 'strict, without rowid',
  plain: 'strict',
}

/** The changes that other processes poll for. */
const changesTable = `create table {changes} (
  seq integer primary key autoincrement,
  topic text not null,
  id text not null,
  at integer not null
) strict`

/** One row: the last entry in the totals of charges, and the last one in those by account. See `unsummed.ts`. */
const summedMarks = [
  'create table {summed} (entry_id integer not null, keyed_id integer not null, at integer) strict',
  'insert into {summed} (entry_id, keyed_id) values (0, 0)',
]

/** Add the size of a reply's body to its account's total, and subtract it again. */
const countReplies = [
  `create trigger compat_reply_inserted after insert on {replies} when new.size_bytes > 0
    begin
      insert into {reply_totals} (account, size_bytes) values (new.account, new.size_bytes)
        on conflict (account) do update set size_bytes = size_bytes + excluded.size_bytes;
    end`,
  `create trigger compat_reply_updated after update of account, size_bytes on {replies}
    when old.size_bytes > 0 or new.size_bytes > 0
    begin
      update {reply_totals} set size_bytes = size_bytes - old.size_bytes where account = old.account;
      insert into {reply_totals} (account, size_bytes) values (new.account, new.size_bytes)
        on conflict (account) do update set size_bytes = size_bytes + excluded.size_bytes;
    end`,
  `create trigger compat_reply_deleted after delete on {replies} when old.size_bytes > 0
    begin
      update {reply_totals} set size_bytes = size_bytes - old.size_bytes where account = old.account;
    end`,
]

export const sqliteMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'initial schema',
    statements: [...tables(WORDS), ...summedMarks, changesTable, ...countReplies],
  },
]

/** Migrates the file. If several processes do so at once, the first one migrates it, and the others find it done. */
export function migrate(
  connection: Connection,
  file: string,
  migrations: readonly Migration[] = sqliteMigrations,
): void {
  const pending = () =>
    pendingMigrations(connection.prepare(APPLIED).rows([]), migrations, `The SQLite file ${file}`)
  if (hasMigrations(connection) && pending().length === 0) return
  retryWhileBusy(() =>
    connection.transaction(() => {
      connection.exec(migrationsTable(WORDS))
      for (const { version, name, statements } of pending()) {
        for (const text of statements) connection.exec(text)
        connection
          .prepare('insert into {migrations} (version, name, applied_at) values (?1, ?2, ?3)')
          .run([BigInt(version), name, BigInt(Date.now())])
      }
    }),
  )
}

function hasMigrations(connection: Connection): boolean {
  const found = connection.prepare("select 1 from sqlite_master where type = 'table' and name = ?1")
  return found.first([tableName('migrations')]) !== undefined
}
