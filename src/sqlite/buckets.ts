import type { Bucket, BucketRows } from '../rules/limit-buckets.js'
import { FEW_ROWS } from './accounts.js'
import type { Connection } from './connection.js'

/** The buckets that one transaction reads and changes. */
export interface Buckets extends BucketRows {
  /** Reads many buckets in one statement. A few are read on demand instead. */
  load(ids: readonly string[]): void
  /** Writes the changed buckets. */
  write(): void
}

type BucketCells = [startsAt: bigint, endsAt: bigint, held: bigint, used: bigint]

export function createBuckets(connection: Connection): Buckets {
  const known = new Map<string, Bucket | undefined>()
  const changed = new Map<string, Bucket>()

  function read(id: string): Bucket | undefined {
    if (!known.has(id)) {
      const cells = connection
        .prepare('select starts_at, ends_at, held, used from {limit_buckets} where id = ?1')
        .first([id]) as BucketCells | undefined
      known.set(id, cells && toBucket(cells))
    }
    return known.get(id)
  }

  return {
    load(ids) {
      const each = new Set(ids)
      if (each.size <= FEW_ROWS) return
      for (const id of each) known.set(id, undefined)
      const rows = connection
        .prepare(
          `select id, starts_at, ends_at, held, used from {limit_buckets}
           where id in (select value from json_each(?1))`,
        )
        .rows([JSON.stringify([...each])])
      for (const { id, starts_at, ends_at, held, used } of rows) {
        known.set(id as string, toBucket([starts_at, ends_at, held, used] as BucketCells))
      }
    },
    read,
    set(id, bucket) {
      known.set(id, bucket)
      changed.set(id, bucket)
    },
    write() {
      if (changed.size > FEW_ROWS) {
        const rows = [...changed].map(
          ([id, { startsAt, endsAt, held, used }]) =>
            `[${JSON.stringify(id)},${startsAt},${endsAt},${held},${used}]`,
        )
        connection
          .prepare(
            `insert into {limit_buckets} (id, starts_at, ends_at, held, used)
             select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 from json_each(?1) where true
             ${REPLACE}`,
          )
          .run([`[${rows.join(',')}]`])
      } else if (changed.size > 0) {
        const statement = connection.prepare(
          `insert into {limit_buckets} (id, starts_at, ends_at, held, used) values (?1, ?2, ?3, ?4, ?5) ${REPLACE}`,
        )
        for (const [id, { startsAt, endsAt, held, used }] of changed) {
          statement.run([id, BigInt(startsAt), BigInt(endsAt), held, used])
        }
      }
    },
  }
}

const REPLACE = `on conflict (id) do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at,
  held = excluded.held, used = excluded.used`

function toBucket([startsAt, endsAt, held, used]: BucketCells): Bucket {
  return { startsAt: Number(startsAt), endsAt: Number(endsAt), held, used }
}
