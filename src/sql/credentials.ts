import { digestToken, mayBeIssued } from '../base/tokens.js'
import type {
  App,
  CredentialOwner,
  CredentialRefusal,
  CredentialResult,
  CredentialStore,
  Principal,
} from '../contracts/index.js'
import {
  readJson,
  readNumber,
  readOptionalJson,
  readOptionalNumber,
  readOptionalText,
  readText,
} from './cells.js'
import type { Row, SqlDatabase, Statement } from './database.js'
import { createGroupCommit } from './group-commit.js'
import { limitsOf, readLimits } from './limit-rows.js'

const UNKNOWN: CredentialResult = Object.freeze({ ok: false, reason: 'unknown' })
/** The most look-ups in one statement. */
const MAX_LOOK_UPS = 1_000

/**
 * The host's keys and access tokens, read from the database. A token that administration cannot have issued is unknown
 * without a look-up, unless `otherTokens` is set because the host inserts tokens of its own.
 *
 * Tokens that arrive during a look-up are looked up together by the next one, so any number of them uses one connection.
 * A token is skipped if its request is aborted before then.
 */
export function createSqlCredentials(database: SqlDatabase, otherTokens: boolean): CredentialStore {
  const lookUps = createGroupCommit<string, Row | undefined>({
    async apply(digests) {
      const rows = await database.all(tokensStatement(database, digests))
      const byDigest = new Map(rows.map((row) => [readText(row, 'digest'), row]))
      return digests.map((digest) => byDigest.get(digest))
    },
    faultOf: () => 'permanent',
    maxCommands: MAX_LOOK_UPS,
    patienceMs: 0,
  })

  async function lookUp(token: string, signal: AbortSignal): Promise<CredentialResult> {
    const row = await lookUps.add(digestToken(token), signal)
    if (row === undefined) return UNKNOWN
    const reason = findRefusal(row)
    return reason === undefined
      ? { ok: true, principal: readPrincipal(row) }
      : { ok: false, reason, credential: readOwner(row) }
  }

  return {
    resolve: (token, context) =>
      otherTokens || mayBeIssued(token) ? lookUp(token, context.signal) : UNKNOWN,
    watch: (changed, connection) => database.watch('credentials', changed, connection),
  }
}

function tokensStatement(database: SqlDatabase, digests: readonly string[]): Statement {
  const { engine, now } = database
  // Digests are hexadecimal, so they need no quotes in a PostgreSQL array.
  const [condition, parameter] =
    engine === 'postgres'
      ? ['t.digest = any (cast(?1 as text[]))', `{${digests.join()}}`]
      : ['t.digest in (select value from json_each(?1))', JSON.stringify(digests)]
  return {
    text: `select t.digest, c.id, c.kind, c.account, c.app_id, c.label, coalesce(t.scopes, c.scopes) as scopes, c.metadata, c.allowed_models,
        t.expires_at, c.revoked_at, t.revoked_at as token_revoked_at,
        a.suspended_at as account_suspended_at, p.suspended_at as app_suspended_at, p.definition as app,
        ${limitsOf(database)} as limits, ${now} as now
      from {tokens} t
      join {credentials} c on c.id = t.credential_id
      left join {accounts} a on a.id = c.account
      left join {apps} p on p.id = c.app_id
      where ${condition}`,
    parameters: [parameter],
  }
}

function findRefusal(row: Row): CredentialRefusal | undefined {
  if (row.revoked_at !== null || row.token_revoked_at !== null) return 'revoked'
  const expiresAt = readOptionalNumber(row, 'expires_at')
  if (expiresAt !== undefined && expiresAt <= readNumber(row, 'now')) return 'expired'
  return row.account_suspended_at !== null || row.app_suspended_at !== null ? 'suspended' : undefined
}

function readOwner(row: Row): CredentialOwner {
  const appId = readOptionalText(row, 'app_id')
  return {
    credentialId: readText(row, 'id'),
    account: readText(row, 'account'),
    ...(appId === undefined ? {} : { appId }),
  }
}

function readPrincipal(row: Row): Principal {
  const expiresAt = readOptionalNumber(row, 'expires_at')
  const metadata = readOptionalJson<Record<string, string>>(row, 'metadata')
  const label = readOptionalText(row, 'label')
  const limits = readLimits(row, 'limits')
  const bearer = {
    credentialId: readText(row, 'id'),
    account: readText(row, 'account'),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(limits.length === 0 ? {} : { limits }),
    ...(label === undefined ? {} : { label }),
    ...(metadata === undefined ? {} : { metadata }),
  }
  if (readText(row, 'kind') === 'api-key') {
    const allowedModels = readOptionalJson<string[]>(row, 'allowed_models')
    return { kind: 'api-key', ...bearer, ...(allowedModels === undefined ? {} : { allowedModels }) }
  }
  return {
    kind: 'access-token',
    ...bearer,
    scopes: readJson<string[]>(row, 'scopes'),
    app: readApp(row),
  }
}

function readApp(row: Row): App {
  if (readOptionalText(row, 'app') === undefined) {
    throw new Error(`The access token ${readText(row, 'id')} names an app that does not exist`)
  }
  return readJson<App>(row, 'app')
}
