import { z } from 'zod'
import { present } from '../base/present.js'
import { idSchema, idsSchema, metadataSchema, parseInput, rowsSchema, whose } from '../rules/schemas.js'
import { readNumber, readOptionalJson, readOptionalNumber, readOptionalText, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Row, SqlDatabase } from '../sql/database.js'
import { cutPage } from '../sql/large-pages.js'

/** The parts of a credential that may be shown. */
export interface CredentialRow {
  readonly credentialId: string
  readonly kind: 'api-key' | 'access-token'
  /** `connect` for a connected app, `session` for a session. Absent for credentials issued by an operator. */
  readonly source?: 'connect' | 'session'
  readonly account: string
  readonly appId?: string
  readonly label?: string
  /** For the host's own `admit`. */
  readonly metadata?: Readonly<Record<string, string>>
  /** The models that an API key may use. Absent if it may use all. */
  readonly allowedModels?: readonly string[]
  /** The scopes of the newest token: those of the connected app, unless it was reissued with fewer. */
  readonly scopes?: readonly string[]
  /** The first characters of the newest token. Empty for a connected app and for a session. */
  readonly prefix: string
  readonly lastFour: string
  readonly createdAt: number
  readonly expiresAt?: number
  /** When the last token that {@link KeysAdmin.reissue} replaced stops working. Absent if none works. */
  readonly previousExpiresAt?: number
  readonly revokedAt?: number
  /** The minute of the last recorded call with it. Absent if there is none. */
  readonly lastUsedAt?: number
}

export interface CredentialsQuery {
  readonly account?: string
  readonly appId?: string
  readonly credentialId?: string
  readonly credentialIds?: readonly string[]
  /** Only keys and tokens whose metadata has these values. Others that it has are of no matter. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Set to true to omit revoked and expired credentials. */
  readonly inUse?: boolean
  readonly after?: string
  readonly limit?: number
}

const querySchema = z.strictObject({
  account: whose(idSchema),
  appId: whose(idSchema),
  credentialId: whose(idSchema),
  credentialIds: whose(idsSchema),
  metadata: whose(metadataSchema),
  inUse: z.boolean().optional(),
  after: idSchema.optional(),
  limit: rowsSchema.optional(),
})

/** SQL that is true if a credential `c` and its newest token `t` are neither revoked nor expired. */
export function isInUse({ now }: SqlDatabase): string {
  return `c.revoked_at is null and (t.expires_at is null or t.expires_at > ${now})`
}

/** Returns credentials with their newest tokens, newest credential first. */
export async function listCredentialRows(
  database: SqlDatabase,
  query: CredentialsQuery,
): Promise<readonly Row[]> {
  const {
    account,
    after,
    appId,
    credentialId,
    credentialIds,
    inUse,
    limit,
    metadata = {},
  } = parseInput(querySchema, query, 'credentials')
  const { conditions, parameters, add, addEqual, addOneOf, where } = createConditions()
  addEqual({ 'c.account': account, 'c.app_id': appId, 'c.id': credentialId })
  if (credentialIds !== undefined) addOneOf('c.id', credentialIds)
  if (credentialId === undefined && credentialIds === undefined) conditions.push("c.source = 'operator'")
  for (const [name, value] of Object.entries(metadata)) {
    // This text occurs in no name and no value of the metadata, because its quotes would be escaped. `like` may ignore case.
    const member = JSON.stringify({ [name]: value }).slice(1, -1)
    add((text) => `replace(c.metadata, ${text}, '') <> c.metadata`, member)
  }
  if (inUse === true) conditions.push(isInUse(database))
  // Ids start with their creation time.
  if (after !== undefined) add((value) => `c.id < ${value}`, after)
  const last = limit === undefined ? '' : `limit ?${parameters.push(BigInt(limit))}`
  // Every operator's credential has one such token. With an inner join, SQLite may read and sort all tokens first, even for
  // one page.
  const token = `left join {tokens} t on t.credential_id = c.id and t.revoked_at is null and c.source = 'operator'`
  const size = ['c.allowed_models', 'c.scopes', 't.scopes', 'c.metadata', 'c.origins', 'c.terms']
    .map((column) => `coalesce(length(${column}), 0)`)
    .join(' + ')
  const page = `select c.id, ${size} as size from {credentials} c ${token} ${where()} order by c.id desc ${last}`
  return database.all({
    text: `select c.*, ${database.now} as now, coalesce(t.scopes, c.scopes) as token_scopes, t.prefix, t.last_four, coalesce(t.expires_at, c.ends_at) as expires_at, t.digest,
        u.last_used_at,
        (select max(o.revoked_at) from {tokens} o where o.credential_id = c.id and o.revoked_at > ${database.now}) as previous_expires_at
      from {credentials} c
      ${token}
      left join {credential_uses} u on u.credential_id = c.id
      ${limit === undefined ? where() : `where c.id in (${cutPage(page, 'desc')})`}
      order by c.id desc`,
    parameters,
  })
}

export function readCredentialRow(row: Row): CredentialRow {
  const source = readText(row, 'source')
  return {
    credentialId: readText(row, 'id'),
    kind: readText(row, 'kind') as CredentialRow['kind'],
    ...(source !== 'operator' && { source: source as 'connect' | 'session' }),
    account: readText(row, 'account'),
    prefix: readOptionalText(row, 'prefix') ?? '',
    lastFour: readOptionalText(row, 'last_four') ?? '',
    createdAt: readNumber(row, 'created_at'),
    ...present({
      appId: readOptionalText(row, 'app_id'),
      label: readOptionalText(row, 'label'),
      metadata: readOptionalJson<Record<string, string>>(row, 'metadata'),
      allowedModels: readOptionalJson<string[]>(row, 'allowed_models'),
      scopes: readOptionalJson<string[]>(row, 'token_scopes'),
      expiresAt: readOptionalNumber(row, 'expires_at'),
      previousExpiresAt: row.revoked_at === null ? readOptionalNumber(row, 'previous_expires_at') : undefined,
      revokedAt: readOptionalNumber(row, 'revoked_at'),
      lastUsedAt: readOptionalNumber(row, 'last_used_at'),
    }),
  }
}
