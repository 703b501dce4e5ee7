import { digestToken, shownParts } from '../base/tokens.js'
import type { ConnectTokens } from '../contracts/index.js'
import { readNumber, readText } from './cells.js'
import { findRefusal, readExpiry, readScopes, tokensStatement } from './credentials.js'
import type { SqlDatabase } from './database.js'

export function createSqlConnectTokens(database: SqlDatabase): ConnectTokens {
  return {
    async saveToken({ token, connectionId, scopes, expiresAt }) {
      const { prefix, lastFour } = shownParts(token)
      const [used] = await database.batch([
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
      return used!.length > 0
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
