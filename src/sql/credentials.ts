import { hash } from 'node:crypto'
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
import type { Row, SqlDatabase } from './database.js'

/** The digest under which a token is kept. */
export function digestToken(token: string): string {
  return hash('sha256', token)
}

/** The host's keys and access tokens, read from their rows. */
export function createSqlCredentials(database: SqlDatabase): CredentialStore {
  return {
    async resolve(token): Promise<CredentialResult> {
      const [row] = await database.all({
        text: `select c.id, c.kind, c.account, c.app_id, coalesce(t.scopes, c.scopes) as scopes, c.metadata,
            t.expires_at, c.revoked_at, t.revoked_at as token_revoked_at,
            a.suspended_at as account_suspended_at, p.suspended_at as app_suspended_at, p.definition as app,
            ${database.now} as now
          from {tokens} t
          join {credentials} c on c.id = t.credential_id
          left join {accounts} a on a.id = c.account
          left join {apps} p on p.id = c.app_id
          where t.digest = ?1`,
        parameters: [digestToken(token)],
      })
      if (row === undefined) return { ok: false, reason: 'unknown' }
      const reason = findRefusal(row)
      return reason === undefined
        ? { ok: true, principal: readPrincipal(row) }
        : { ok: false, reason, credential: readOwner(row) }
    },
    watch: (changed, connection) => database.watch('credentials', changed, connection),
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
  const bearer = {
    credentialId: readText(row, 'id'),
    account: readText(row, 'account'),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(metadata === undefined ? {} : { metadata }),
  }
  if (readText(row, 'kind') === 'api-key') return { kind: 'api-key', ...bearer }
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
