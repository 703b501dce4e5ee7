import type { SqlDatabase } from './database.js'

/** How long an access token is kept after its expiry, because a client that was asleep must learn that it has expired. */
const EXPIRED_TOKENS_KEPT_MS = 43_200_000

/** How long an ended connection is kept, because a token that is used again refers to it. */
const ENDED_CONNECTIONS_KEPT_MS = 30 * 86_400_000

/** How long a connection without a token is kept. Its request and its code have expired by then. */
const UNUSED_CONNECTIONS_KEPT_MS = 3_600_000

/** Implements `sweep` of the store's contract. */
export async function sweep(database: SqlDatabase, limit: number): Promise<number> {
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new RangeError(`limit must be a whole number of rows, 1 or more; got ${String(limit)}`)
  }
  const { now } = database
  const parameters = [BigInt(limit)]
  const oldRows = `from {oauth} where expires_at <= ${now} order by expires_at, digest limit ?1`
  const oldTokens = `from {tokens} where expires_at <= ${now} - ${EXPIRED_TOKENS_KEPT_MS}
    and connection_id is not null order by expires_at, digest limit ?1`
  const swept = await database.batch([
    // A connection ends with the last of its rows, so only the connections of deleted rows are checked.
    {
      text: `update {connections} set ended_at = ${now}, reason = 'unused'
        where ended_at is null
          and id in (
            select connection_id from (select connection_id ${oldRows}) a
            union select connection_id from (select connection_id ${oldTokens}) b
          )
          and not exists (
            select 1 from {oauth} o where o.connection_id = {connections}.id and o.expires_at > ${now}
          )
          and not exists (
            select 1 from {tokens} t where t.connection_id = {connections}.id and t.expires_at > ${now}
          )
        returning id`,
      parameters,
    },
    {
      text: `delete from {oauth} where (model, digest) in (select model, digest ${oldRows}) returning digest`,
      parameters,
    },
    {
      text: `delete from {tokens} where digest in (select digest ${oldTokens}) returning digest`,
      parameters,
    },
    {
      text: `delete from {connections} where id in (
          select id from {connections} where ended_at <= ${now} - ${ENDED_CONNECTIONS_KEPT_MS} order by ended_at limit ?1
        )
        and not exists (select 1 from {tokens} t where t.connection_id = {connections}.id)
        returning id`,
      parameters,
    },
    {
      text: `delete from {connections} where id in (
          select id from {connections} where used_at is null and created_at <= ${now} - ${UNUSED_CONNECTIONS_KEPT_MS}
          order by created_at limit ?1
        ) returning id`,
      parameters,
    },
  ])
  return swept.reduce((sum, rows) => sum + rows.length, 0)
}
