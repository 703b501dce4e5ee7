import type { SqlDatabase } from './database.js'

/** A connection without a code or a token is left alone this long, since its code may not have been stored yet. */
const NEW_MS = 600_000

/** Implements `sweep` of the store's contract. */
export async function sweep(database: SqlDatabase, limit: number): Promise<number> {
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new RangeError(`limit must be a whole number of rows, 1 or more; got ${String(limit)}`)
  }
  const { now } = database
  const parameters = [BigInt(limit)]
  const swept = await database.batch([
    {
      text: `delete from {oauth} where (model, digest) in
        (select model, digest from {oauth} where expires_at <= ${now} limit ?1) returning digest`,
      parameters,
    },
    {
      text: `delete from {tokens} where digest in (
          select digest from {tokens} where expires_at <= ${now} and connection_id is not null limit ?1
        ) returning digest`,
      parameters,
    },
    {
      text: `update {connections} set ended_at = ${now}, reason = 'unused' where id in (
          select n.id from {connections} n where n.ended_at is null and n.created_at < ${now} - ${NEW_MS}
            and not exists (select 1 from {oauth} o where o.connection_id = n.id)
            and not exists (select 1 from {tokens} t where t.connection_id = n.id)
          limit ?1
        ) returning id`,
      parameters,
    },
  ])
  return swept.reduce((sum, rows) => sum + rows.length, 0)
}
