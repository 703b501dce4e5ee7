import { digestToken, mayBeIssued } from '../base/tokens.js'
import type {
  App,
  CredentialOwner,
  CredentialRefusal,
  CredentialResult,
  CredentialStore,
  Principal,
} from '../contracts/index.js'
import { commonModels } from '../rules/app-models.js'
import { smallerMarkup } from '../rules/markups.js'
import {
  readJson,
  readNumber,
  readOptionalJson,
  readOptionalNumber,
  readOptionalText,
  readText,
} from './cells.js'
import { type AppDefinition, originsOf } from './connect-apps.js'
import type { Terms } from './connected-apps.js'
import type { Row, SqlDatabase, Statement } from './database.js'
import { createGroupCommit } from './group-commit.js'
import { limitsOf, readLimits } from './limit-rows.js'

const UNKNOWN: CredentialResult = Object.freeze({ ok: false, reason: 'unknown' })
/** The maximum number of look-ups in one statement. */
const MAX_LOOK_UPS = 1_000

/**
 * The host's keys and access tokens, read from the database. A token that the admin functions cannot have issued is
 * unknown without a look-up, unless `otherTokens` is set because the host inserts its own tokens.
 *
 * Tokens that arrive during a look-up are looked up together by the next one, so any number of them uses one
 * connection. A token is skipped if its request is aborted before then.
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
    ...(!otherTokens && { recognises: mayBeIssued }),
    watch: (changed, connection) => database.watch('credentials', changed, connection),
  }
}

/** The statement that looks up tokens by their digests, with everything that decides what a call may do. */
export function tokensStatement(database: SqlDatabase, digests: readonly string[]): Statement {
  const { engine, now } = database
  // Digests are hexadecimal, so they need no quotes in a PostgreSQL array.
  const [condition, parameter] =
    engine === 'postgres'
      ? ['t.digest = any (cast(?1 as text[]))', `{${digests.join()}}`]
      : ['t.digest in (select value from json_each(?1))', JSON.stringify(digests)]
  return {
    text: `select t.digest, t.connection_id, t.created_at as token_created_at, c.id, c.kind, c.source, c.account, c.app_id,
        c.label, coalesce(t.scopes, c.scopes, g.scopes) as scopes, coalesce(g.scopes, c.scopes) as granted_scopes, c.metadata, c.allowed_models,
        c.origins, coalesce(g.terms, c.terms) as terms,
        t.expires_at, c.ends_at, g.ends_at as grant_ends_at,
        c.revoked_at, t.revoked_at as token_revoked_at, g.revoked_at as grant_revoked_at, n.ended_at,
        a.suspended_at as account_suspended_at, p.suspended_at as app_suspended_at, p.definition as app,
        ${limitsOf(database)} as limits, ${now} as now
      from {tokens} t
      join {credentials} c on c.id = t.credential_id
      left join {connections} n on n.id = t.connection_id
      left join {credentials} g on g.id = c.parent_id
      left join {accounts} a on a.id = c.account
      left join {apps} p on p.id = c.app_id
      where ${condition}`,
    parameters: [parameter],
  }
}

/** Returns why a token is refused now, or undefined if a call with it would be admitted. */
export function findRefusal(row: Row): CredentialRefusal | undefined {
  const now = readNumber(row, 'now')
  const tokenEnd = readOptionalNumber(row, 'token_revoked_at')
  if (row.revoked_at !== null || (tokenEnd !== undefined && tokenEnd <= now)) return 'revoked'
  if (row.grant_revoked_at !== null || row.ended_at !== null) return 'revoked'
  const expiresAt = readExpiry(row)
  if (expiresAt !== undefined && expiresAt <= now) return 'expired'
  return row.account_suspended_at !== null || row.app_suspended_at !== null ? 'suspended' : undefined
}

/**
 * Returns the earliest end of a token, of its credential, and of the connected app that the credential is a session of. A
 * replaced token may be revoked at a time to come.
 */
export function readExpiry(row: Row): number | undefined {
  const ends = ENDS.map((column) => readOptionalNumber(row, column)).filter((end) => end !== undefined)
  return ends.length === 0 ? undefined : Math.min(...ends)
}

const ENDS = ['expires_at', 'token_revoked_at', 'ends_at', 'grant_ends_at']

/** Returns the scopes of a token that its credential still has, if the credential has a list. */
export function readScopes(row: Row): readonly string[] {
  const scopes = readJson<string[]>(row, 'scopes')
  const granted = readOptionalJson<string[]>(row, 'granted_scopes')
  return granted === undefined ? scopes : scopes.filter((scope) => granted.includes(scope))
}

function readOwner(row: Row): CredentialOwner {
  const appId = readOptionalText(row, 'app_id')
  return {
    credentialId: readText(row, 'id'),
    account: readText(row, 'account'),
    ...(appId !== undefined && { appId }),
  }
}

function readPrincipal(row: Row): Principal {
  const expiresAt = readExpiry(row)
  const metadata = readOptionalJson<Record<string, string>>(row, 'metadata')
  const label = readOptionalText(row, 'label')
  const limits = readLimits(row, 'limits')
  const origins = readOrigins(row)
  const bearer = {
    credentialId: readText(row, 'id'),
    account: readText(row, 'account'),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(limits.length !== 0 && { limits }),
    ...(label !== undefined && { label }),
    ...(origins !== undefined && { origins }),
    ...(metadata !== undefined && { metadata }),
  }
  if (readText(row, 'kind') === 'api-key') {
    const allowedModels = readOptionalJson<string[]>(row, 'allowed_models')
    return { kind: 'api-key', ...bearer, ...(allowedModels !== undefined && { allowedModels }) }
  }
  return {
    kind: 'access-token',
    ...bearer,
    scopes: readScopes(row),
    app: readApp(row),
  }
}

/** Returns the app on the terms that the user agreed to, if there are such terms, and never on worse ones. */
function readApp(row: Row): App {
  const { id, name, markup, allowedModels, account } = readDefinition(row)
  const terms = readOptionalJson<Terms>(row, 'terms')
  const own = readOptionalJson<string[]>(row, 'allowed_models')
  return {
    id,
    ...(name !== undefined && { name }),
    markup: terms === undefined ? markup : smallerMarkup(terms.markup, markup),
    allowedModels: commonModels(allowedModels, commonModels(terms?.models ?? 'all', own ?? 'all')),
    ...(account !== undefined && { account }),
  }
}

/**
 * An operator's tokens are bound to no origin, those of a connected app to the app's origins, and those of a session to
 * its own.
 */
function readOrigins(row: Row): readonly string[] | undefined {
  return readText(row, 'source') === 'connect'
    ? originsOf(readDefinition(row))
    : readOptionalJson<string[]>(row, 'origins')
}

function readDefinition(row: Row): AppDefinition {
  if (readOptionalText(row, 'app') === undefined) {
    throw new Error(`The access token ${readText(row, 'id')} names an app that does not exist`)
  }
  return readJson<AppDefinition>(row, 'app')
}
