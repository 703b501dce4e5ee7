import type { DurableStores } from '../../../src/sql/stores.js'

/** The state of a bucket after a change. `seq` is in the order of commits, since a change locks the bucket's row. */
export interface BucketState {
  readonly seq: bigint
  readonly bucket: string
  readonly startsAt: bigint
  readonly held: bigint
  readonly used: bigint
}

/** Lets the database write down every state of every bucket, in the transaction that makes it. */
export async function installAudit({ database }: DurableStores): Promise<void> {
  const columns = 'bucket, starts_at, held, used'
  const insert = `insert into {bucket_audit} (${columns}) values (new.id, new.starts_at, new.held, new.used)`
  const statements =
    database.engine === 'sqlite'
      ? [
          'create table {bucket_audit} (seq integer primary key autoincrement, bucket text, starts_at integer, held integer, used integer)',
          `create trigger audit_inserted after insert on {limit_buckets} begin ${insert}; end`,
          `create trigger audit_updated after update on {limit_buckets} begin ${insert}; end`,
        ]
      : [
          'create table {bucket_audit} (seq bigserial primary key, bucket text, starts_at bigint, held bigint, used bigint)',
          `create function {audit_bucket}() returns trigger language plpgsql as $$ begin ${insert}; return null; end $$`,
          'create trigger audit_changed after insert or update on {limit_buckets} for each row execute function {audit_bucket}()',
        ]
  statements.push('create index compat_bucket_audit_order on {bucket_audit} (bucket, seq)')
  await database.batch(statements.map((text) => ({ text })))
}

/** Returns the number of a bucket's last committed state, 0 if it has none. */
export async function lastState({ database }: DurableStores, bucket: string): Promise<bigint> {
  const [row] = await database.all({
    text: 'select coalesce(max(seq), 0) as seq from {bucket_audit} where bucket = ?1',
    parameters: [bucket],
  })
  return BigInt(row!.seq!)
}

export async function readStates({ database }: DurableStores): Promise<readonly BucketState[]> {
  const rows = await database.all({ text: 'select * from {bucket_audit} order by seq', isReport: true })
  return rows.map((row) => ({
    seq: BigInt(row.seq!),
    bucket: String(row.bucket),
    startsAt: BigInt(row.starts_at!),
    held: BigInt(row.held!),
    used: BigInt(row.used!),
  }))
}
