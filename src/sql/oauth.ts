import { hash } from 'node:crypto'
import type { OauthRow, OauthRows } from '../contracts/index.js'
import { readJson, readNumber, readOptionalNumber } from './cells.js'
import type { Row, SqlDatabase } from './database.js'

export function createSqlOauth(database: SqlDatabase): OauthRows {
  const { now } = database

  return {
    async putOauth({ model, id, connectionId, payload, expiresAt }) {
      await database.all({
        text: `insert into {oauth} (model, digest, connection_id, payload, expires_at)
          values (?1, ?2, ?3, ?4, ?5)
          on conflict (model, digest) do update set connection_id = excluded.connection_id,
            payload = excluded.payload, expires_at = excluded.expires_at`,
        parameters: [
          model,
          hash('sha256', id),
          connectionId ?? null,
          JSON.stringify(payload),
          BigInt(expiresAt),
        ],
      })
    },

    async findOauth(model, id) {
      const [row] = await database.all({
        text: `select payload, consumed_at, expires_at, ${now} as now from {oauth}
          where model = ?1 and digest = ?2 and expires_at > ${now}`,
        parameters: [model, hash('sha256', id)],
      })
      return row === undefined ? undefined : readOauthRow(row)
    },

    async consumeOauth(model, id) {
      const parameters = [model, hash('sha256', id)]
      const [consumed, rows] = await database.batch([
        {
          text: `update {oauth} set consumed_at = ${now}
            where model = ?1 and digest = ?2 and consumed_at is null and expires_at > ${now} returning digest`,
          parameters,
        },
        {
          text: `select consumed_at, ${now} as now from {oauth}
            where model = ?1 and digest = ?2 and expires_at > ${now}`,
          parameters,
        },
      ])
      if (consumed!.length > 0) return { first: true, msAgo: 0 }
      const [row] = rows!
      return row === undefined ? undefined : { first: false, msAgo: consumedMsAgo(row) ?? 0 }
    },

    async destroyOauth(model, id) {
      await database.all({
        text: 'delete from {oauth} where model = ?1 and digest = ?2',
        parameters: [model, hash('sha256', id)],
      })
    },
  }
}

function readOauthRow(row: Row): OauthRow {
  const msAgo = consumedMsAgo(row)
  return {
    payload: readJson<Record<string, unknown>>(row, 'payload'),
    expiresAt: readNumber(row, 'expires_at'),
    ...(msAgo !== undefined && { consumedMsAgo: msAgo }),
  }
}

/** At least 0, because the machine's clock may have been set back. */
function consumedMsAgo(row: Row): number | undefined {
  const consumedAt = readOptionalNumber(row, 'consumed_at')
  return consumedAt === undefined ? undefined : Math.max(0, readNumber(row, 'now') - consumedAt)
}
