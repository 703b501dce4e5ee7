import { digestToken, shownParts } from '../base/tokens.js'
import type { ConnectTokens } from '../contracts/index.js'
import { readNumber, readOptionalText, readText } from './cells.js'
import { actorOf, appendHistory } from './connect-history.js'
import { findRefusal, readExpiry, readScopes, tokensStatement } from './credentials.js'
import type { Row, SqlDatabase, Statement } from './database.js'

export function createSqlConnectTokens(database: SqlDatabase): ConnectTokens {
  return {
    async saveToken({ token, connectionId, scopes, expiresAt }) {
      const { prefix, lastFour } = shownParts(token)
      const [connection] = await database.all({
        text: `select n.used_at, n.label, c.account from {connections} n
          join {credentials} c on c.id = n.credential_id where n.id = ?1`,
        parameters: [connectionId],
      })
      if (connection === undefined) return false
      const used = await database.batch([
        ...(connection.used_at === null ? [addDevice(database, connectionId, connection)] : []),
        {
          text: `update {connections} set used_at = ${database.now} where id = ?1 returning id`,
          parameters: [connectionId],
        },
        {
          text: `insert into {tokens}
              (digest, credential_id, connection_id, prefix, last_four, scopes, expires_at, created_at)
            select ?2, n.credential_id, n.id, ?3, ?4, ?5, cast(?6 as bigint), ${database.now}
            from {connections} n where n.id = ?1
            on conflict (digest) do nothing`,
          parameters: [
            connectionId,
            digestToken(token),
            prefix,
            lastFour,
            JSON.stringify(scopes),
            BigInt(expiresAt),
          ],
        },
      ])
      return used.at(-2)!.length > 0
    },

    async findToken(token) {
      const [row] = await database.all(tokensStatement(database, [digestToken(token)]))
      if (row === undefined || row.connection_id === null || findRefusal(row) !== undefined) return undefined
      return {
        connectionId: readText(row, 'connection_id'),
        account: readText(row, 'account'),
        appId: readText(row, 'app_id'),
        scopes: readScopes(row),
        createdAt: readNumber(row, 'token_created_at'),
        expiresAt: readExpiry(row)!,
      }
    },

    async revokeToken(token) {
      const digest = digestToken(token)
      const [revoked] = await database.batch([
        {
          text: `update {tokens} set revoked_at = ${database.now}
            where digest = ?1 and connection_id is not null and revoked_at is null returning digest`,
          parameters: [digest],
        },
        database.changeEach('credentials', {
          text: 'select credential_id as id from {tokens} where digest = ?1 and connection_id is not null',
          parameters: [digest],
        }),
      ])
      return revoked!.length > 0
    },
  }
}

/** Adds a connection to the history of its connected app, once. */
function addDevice(database: SqlDatabase, connectionId: string, row: Row): Statement {
  const label = readOptionalText(row, 'label')
  return appendHistory(
    database,
    {
      id: `added-${connectionId}`,
      kind: 'device-added',
      by: actorOf(readText(row, 'account')),
      terms: { connectionId, ...(label !== undefined && { label }) },
    },
    { text: 'select credential_id as id from {connections} where id = ?1', parameters: [connectionId] },
  )
}
