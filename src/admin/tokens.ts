import { digestToken, shownParts } from '../base/tokens.js'
import { toJsonCell } from '../sql/cells.js'
import type { SqlDatabase, Statement } from '../sql/database.js'

/** The scopes and the expiry of a token. By default it has all scopes of its credential and never expires. */
export interface TokenTerms {
  readonly expiresAt?: number | undefined
  readonly scopes?: readonly string[] | undefined
}

/**
 * Returns the statement that adds a token to a credential. It has no effect if the credential is revoked or has a
 * token.
 */
export function insertToken(
  database: SqlDatabase,
  token: string,
  credentialId: string,
  { expiresAt, scopes }: TokenTerms,
): Statement {
  const { prefix, lastFour } = shownParts(token)
  return {
    text: `insert into {tokens} (digest, credential_id, prefix, last_four, scopes, expires_at, created_at)
      select ?1, c.id, ?3, ?4, ?5, cast(?6 as bigint), ${database.now} from {credentials} c
      where c.id = ?2 and c.revoked_at is null
        and not exists (select 1 from {tokens} t where t.credential_id = c.id and t.revoked_at is null)
      returning credential_id`,
    parameters: [
      digestToken(token),
      credentialId,
      prefix,
      lastFour,
      toJsonCell(scopes),
      expiresAt === undefined ? null : BigInt(expiresAt),
    ],
  }
}
