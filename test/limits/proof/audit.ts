import { HOLD_STATE } from '../../../src/sql/hold-states.js'
import type { LimitCells } from '../../../src/sql/limit-cells.js'
import type { DurableStores } from '../../../src/sql/stores.js'

/** A change that the ledger has made. */
export interface Change {
  /**
   * The order of the changes. PostgreSQL draws it while the buckets that the change counts in are locked, so for each bucket
   * it is the order of commits. SQLite has one writer at a time.
   */
  readonly seq: number
  /** The transaction, which has all the changes that count in one bucket in a row. */
  readonly batch: number
  readonly what: 'hold' | 'end' | 'charge' | 'bucket' | 'refusal'
  /** A hold, or the bucket that was written. */
  readonly id: string
  /** The state of a hold after the change. */
  readonly state: number | undefined
  /** The parts of buckets that a hold accounts for, or the use of a charge. */
  readonly parts: LimitCells
  /** Another hold has taken over the parts of this one. */
  readonly isReplaced: boolean
  /** The row of a bucket. */
  readonly startsAt: bigint
  readonly held: bigint
  readonly used: bigint
}

const COLUMNS = 'batch, what, id, state, parts, is_replaced, starts_at, held, used'

/**
 * Lets the database write down each change of a hold, a charge and a bucket, in the transaction that makes it. PostgreSQL
 * also writes down each hold that a limit refuses. SQLite's ledger decides in memory: see `watchRefusals`.
 */
export async function installAudit({ database }: DurableStores): Promise<void> {
  const isSqlite = database.engine === 'sqlite'
  const batch = isSqlite ? 'null' : 'pg_catalog.txid_current()'
  const details = isSqlite ? "new.details ->> 'limits'" : "new.details::json ->> 'limits'"
  const add = (what: string, values: string) =>
    `insert into {ledger_audit} (${COLUMNS}) values (${batch}, '${what}', ${values});`
  const nothing = 'null, null, null'
  const triggers = [
    ['insert on {holds}', '', add('hold', `new.id, new.state, new.limits, null, ${nothing}`)],
    [
      'update of state on {holds}',
      `when (old.state = ${HOLD_STATE.open} and new.state <> ${HOLD_STATE.open})`,
      add('end', `new.id, new.state, old.limits, case when new.limits is null then 1 end, ${nothing}`),
    ],
    [
      'insert on {entries}',
      'when (new.hold_id is not null)',
      add('charge', `new.hold_id, null, ${details}, null, ${nothing}`),
    ],
    ...['insert', 'update'].map((change) => [
      `${change} on {limit_buckets}`,
      '',
      add('bucket', 'new.id, null, null, null, new.starts_at, new.held, new.used'),
    ]),
  ] as const
  const cells = 'what text, id text, state integer, parts text, is_replaced integer'
  const statements = isSqlite
    ? [
        `create table {ledger_audit} (seq integer primary key autoincrement, batch integer, ${cells}, starts_at integer, held integer, used integer)`,
        ...triggers.map(
          ([event, when, body], index) =>
            `create trigger audit_${index} after ${event} for each row ${when} begin ${body} end`,
        ),
      ]
    : [
        `create table {ledger_audit} (seq bigserial primary key, batch bigint, ${cells}, starts_at bigint, held bigint, used bigint)`,
        ...triggers.flatMap(([event, when, body], index) => [
          `create function {audit_${index}}() returns trigger language plpgsql as $$ begin ${body} return null; end $$`,
          `create trigger audit_${index} after ${event} for each row ${when} execute function {audit_${index}}()`,
        ]),
        ...(await auditRefusals(database, add('refusal', `$1, null, null, null, ${nothing}`))),
      ]
  await database.batch(statements.map((text) => ({ text })))
}

/** Statements that put a function in front of the one that takes single holds, which alone refuses any. */
async function auditRefusals(database: DurableStores['database'], insert: string): Promise<string[]> {
  const [row] = await database.all({
    text: `select pg_catalog.pg_get_function_arguments(oid) as arguments, pronargs,
      pg_catalog.pg_get_function_result(oid) as result from pg_catalog.pg_proc
      where oid = cast('{take_hold_1}' as regproc)`,
  })
  const { arguments: declared, pronargs, result } = row!
  const passed = Array.from({ length: Number(pronargs) }, (_, index) => `$${index + 1}`).join(', ')
  const columns = String(result).match(/\w+(?= (?:text|bigint|numeric))/g)!
  return [
    'alter function {take_hold_1} rename to take_hold_unaudited',
    `create function {take_hold_1}(${declared}) returns ${result} language plpgsql as $$
    #variable_conflict use_column
    declare v_answer record;
    begin
      select * into strict v_answer from {take_hold_unaudited}(${passed});
      if v_answer.kind = 'limited' then ${insert} end if;
      return query select ${columns.map((column) => `v_answer.${column}`).join(', ')};
    end $$`,
  ]
}

/** Returns all changes in their order. */
export async function readChanges({ database }: DurableStores): Promise<readonly Change[]> {
  const rows = await database.all({ text: 'select * from {ledger_audit} order by seq', isReport: true })
  let batch = 0
  let before: unknown
  return rows.map((row): Change => {
    // SQLite's ledger writes the buckets at the end of its transaction.
    if (before === 'bucket' && row.what !== 'bucket') batch++
    before = row.what
    return {
      seq: Number(row.seq),
      batch: Number(row.batch ?? batch),
      what: row.what as Change['what'],
      id: String(row.id),
      state: row.state === null ? undefined : Number(row.state),
      parts: row.parts === null ? [] : (JSON.parse(String(row.parts)) as LimitCells),
      isReplaced: row.is_replaced !== null,
      startsAt: BigInt(row.starts_at ?? 0),
      held: BigInt(row.held ?? 0),
      used: BigInt(row.used ?? 0),
    }
  })
}
