import { idSchema, parseInput } from '../contracts/schemas.js'
import { readNumber, readOptionalJson, readOptionalNumber, readOptionalText, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Row, SqlDatabase } from '../sql/database.js'
import { checkLimit } from './limit.js'

/** What may be shown of a credential. */
export interface CredentialRow {
  readonly credentialId: string
  readonly kind: 'api-key' | 'access-token'
  readonly account: string
  readonly appId?: string
  readonly label?: string
  /** The scopes of the newest token: those of the grant, or fewer if it was reissued with fewer. */
  readonly scopes?: readonly string[]
  /** How the newest token starts and ends. */
  readonly prefix: string
  readonly lastFour: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

export interface CredentialsQuery {
  readonly account?: string
  readonly appId?: string
  readonly credentialId?: string
  readonly credentialIds?: readonly string[]
  /** Leaves out what is revoked or has expired. */
  readonly inUse?: boolean
  readonly after?: string
  readonly limit?: number
}

/** Neither revoked nor expired: of a credential `c` and its newest token `t`. */
export function isInUse({ now }: SqlDatabase): string {
  return `c.revoked_at is null and (t.expires_at is null or t.expires_at > ${now})`
}

/** The rows of credentials with their newest tokens, the newest credential first. */
export async function listCredentialRows(
  database: SqlDatabase,
  query: CredentialsQuery,
): Promise<readonly Row[]> {
  const { account, after, appId, credentialId, credentialIds, inUse, limit } = query
  checkLimit(limit)
  const { conditions, parameters, add, addOneOf, where } = createConditions()
  if (account !== undefined) add((value) => `c.account = ${value}`, account)
  if (appId !== undefined) add((value) => `c.app_id = ${value}`, appId)
  if (credentialId !== undefined) add((value) => `c.id = ${value}`, credentialId)
  if (credentialIds !== undefined) addOneOf('c.id', credentialIds)
  if (inUse === true) conditions.push(isInUse(database))
  // Ids begin with the time at which they were made.
  if (after !== undefined) add((value) => `c.id < ${value}`, parseInput(idSchema, after, 'after'))
  if (limit !== undefined) parameters.push(BigInt(limit))
  // Every credential has one such token. The join is a left one for SQLite, which else may read all tokens before any
  // credential, and sort them, where a page would do.
  return database.all({
    text: `select c.*, coalesce(t.scopes, c.scopes) as token_scopes, t.prefix, t.last_four, t.expires_at, t.digest from {credentials} c
      left join {tokens} t on t.credential_id = c.id and t.revoked_at is null
      ${where()}
      order by c.id desc ${limit === undefined ? '' : `limit ?${parameters.length}`}`,
    parameters,
  })
}

export function readCredentialRow(row: Row): CredentialRow {
  const appId = readOptionalText(row, 'app_id')
  const label = readOptionalText(row, 'label')
  const scopes = readOptionalJson<string[]>(row, 'token_scopes')
  const expiresAt = readOptionalNumber(row, 'expires_at')
  const revokedAt = readOptionalNumber(row, 'revoked_at')
  return {
    credentialId: readText(row, 'id'),
    kind: readText(row, 'kind') as CredentialRow['kind'],
    account: readText(row, 'account'),
    prefix: readText(row, 'prefix'),
    lastFour: readText(row, 'last_four'),
    createdAt: readNumber(row, 'created_at'),
    ...(appId === undefined ? {} : { appId }),
    ...(label === undefined ? {} : { label }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(revokedAt === undefined ? {} : { revokedAt }),
  }
}
