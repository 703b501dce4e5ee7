import { type Migration, migrationsTable, pendingMigrations } from '../sql/migrations.js'
import {
  callTables,
  connectTables,
  countReplies,
  firstTables,
  keyModelsAndRefunds,
  limitTables,
  mediaColumns,
  processTables,
  replyTotalsTable,
  type SchemaWords,
} from '../sql/tables.js'
import { type Connection, retryWhileBusy, tableName } from './connection.js'

const subtract = `update {reply_totals} set size_bytes = size_bytes - old.size_bytes where account = old.account;`
const add = `insert into {reply_totals} (account, size_bytes) values (new.account, new.size_bytes)
  on conflict (account) do update set size_bytes = size_bytes + excluded.size_bytes;`

/** Add the size of a reply's body to its account's total, and subtract it again. */
const countReplyTriggers = [
  `create trigger compat_reply_inserted after insert on {replies} when new.size_bytes > 0
    begin ${add} end`,
  `create trigger compat_reply_updated after update of account, size_bytes on {replies}
    when old.size_bytes > 0 or new.size_bytes > 0
    begin ${subtract} ${add} end`,
  `create trigger compat_reply_deleted after delete on {replies} when old.size_bytes > 0
    begin ${subtract} end`,
]

/** In strict tables, an integer beyond 64 bits is an error and not a double. */
const WORDS: SchemaWords = {
  name: 'text',
  integer: 'integer',
  serial: 'integer primary key',
  keyed: 'strict, without rowid',
  busy: 'strict',
  plain: 'strict',
}

export const sqliteMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'first',
    statements: [
      ...firstTables(WORDS),
      `create table {changes} (
        seq integer primary key autoincrement,
        topic text not null,
        id text not null,
        at integer not null
      ) strict`,
    ],
  },
  {
    version: 2,
    name: 'reply totals',
    statements: [
      replyTotalsTable(WORDS),
      ...countReplyTriggers,
      countReplies,
      'drop index compat_replies_account',
    ],
  },
  { version: 3, name: 'audio and image tokens', statements: mediaColumns(WORDS) },
  { version: 4, name: 'limits', statements: limitTables(WORDS) },
  { version: 5, name: 'models of keys, and refunds', statements: keyModelsAndRefunds(WORDS) },
  { version: 6, name: 'calls', statements: callTables(WORDS) },
  { version: 7, name: 'connect', statements: connectTables(WORDS) },
  { version: 8, name: 'processes', statements: processTables(WORDS) },
]

/** Migrates the file. If several processes do so at once, the first one migrates it, and the others find it done. */
export function migrate(
  connection: Connection,
  file: string,
  migrations: readonly Migration[] = sqliteMigrations,
): void {
  const pending = () => pendingMigrations(readVersion(connection), migrations, file)
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

function readVersion(connection: Connection): number {
  return Number(connection.prepare('select coalesce(max(version), 0) from {migrations}').first([])![0])
}
