import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { createIdSource } from '../base/ids.js'
import { invalidInput } from '../base/invalid-input.js'
import { present } from '../base/present.js'
import { Refusal } from '../base/refusal.js'
import { createToken, digestToken, shownParts } from '../base/tokens.js'
import type { AppModels, Markup } from '../contracts/index.js'
import {
  appModelsSchema,
  idSchema,
  keysSchema,
  labelSchema,
  markupSchema,
  metadataSchema,
  nameSchema,
  newLimitsSchema,
  parseField,
  parseInput,
  restriction,
  scopesSchema,
  timeSchema,
} from '../rules/schemas.js'
import type { Recorder } from '../sql/audit.js'
import { readNumber, readOptionalJson, readOptionalNumber, readText, toJsonCell } from '../sql/cells.js'
import { actorOf } from '../sql/connect-history.js'
import { revokeCredential } from '../sql/connected-apps.js'
import type { Parameter, Row, SqlDatabase, Statement } from '../sql/database.js'
import { insertLimit } from '../sql/limit-rows.js'
import { lockName } from '../sql/locks.js'
import { listAppRows, mayUse, readAppRow } from './app-rows.js'
import { type ConnectedAppChange, changeSchema } from './connected-apps.js'
import {
  type CredentialRow,
  type CredentialsQuery,
  isInUse,
  listCredentialRows,
  readCredentialRow,
} from './credential-rows.js'
import { type NewLimit, newLimitsOf } from './usage-limits.js'

/** The terms that API keys and access tokens have in common. */
export interface CredentialRequest {
  /** The account that pays. */
  readonly account: string
  /** A name for people, to distinguish keys. */
  readonly label?: string
  /** Milliseconds since the Unix epoch. By default the key never expires. */
  readonly expiresAt?: number
  /** For the host's own `admit`. */
  readonly metadata?: Readonly<Record<string, string>>
  /**
   * Budgets and rate limits that it has from the first call on, each unit once a period; at most 10. They are made in the
   * same transaction, with ids such as `{credentialId}-credits-month`, and can be changed like all others.
   */
  readonly limits?: readonly NewLimit[]
}

export interface KeyRequest extends CredentialRequest {
  /** Model ids, compared as whole strings. All models by default. An empty list allows nothing. */
  readonly allowedModels?: readonly string[]
}

export interface AccessTokenRequest extends CredentialRequest {
  /** A registered app. */
  readonly appId: string
  /** Compared as whole strings. Chat completions need `models.run`. */
  readonly scopes: readonly string[]
  /**
   * The models and the markup that the account agreed to. A call pays the smaller of this markup and the app's current
   * one, and may use those of these models that the app still has. If the app has an owner, the default is the app's
   * current terms. The tokens of a host's own app follow the app.
   */
  readonly terms?: AppTerms
}

/** What an app may cost, and which models it may use. */
export interface AppTerms {
  readonly models: AppModels
  readonly markup: Markup
}

export interface ReissueOptions {
  /** Milliseconds since the Unix epoch, or null for never. By default the new token expires with the previous one, and must be given if that has expired. */
  readonly expiresAt?: number | null
  /**
   * Until when the previous token works too, in milliseconds since the Unix epoch, but no longer than its own end. By
   * default it stops working at once. A token that an earlier call has left stops then in any case.
   */
  readonly previousExpiresAt?: number
  /** Some of the credential's scopes; all by default. */
  readonly scopes?: readonly string[]
  /** A row from {@link KeysAdmin.list}. Rejects if the credential has changed since. */
  readonly was?: CredentialRow
}

/** A new credential. Its `token` is never shown again. */
export interface IssuedCredential {
  readonly credentialId: string
  readonly token: string
}

export interface KeysAdmin {
  /**
   * Creates an API key. Only its digest is stored. Rejects if the account has `keysPerAccount` keys and access tokens in
   * use, whoever issued them.
   */
  issue(request: KeyRequest): Promise<IssuedCredential>
  /**
   * Lets an app act for an account. Rejects if the app is not registered, if it is in `test` and the account is neither
   * its owner nor a tester, or in the cases in which {@link issue} does.
   */
  issueToken(request: AccessTokenRequest): Promise<IssuedCredential>
  /** Issues a new token for a key or a connected app, for example if it was lost. The id stays. Revokes the previous tokens, at once or at `previousExpiresAt`. */
  reissue(credentialId: string, options?: ReissueOptions): Promise<IssuedCredential>
  /**
   * Revokes a key, a session or a connected app with all its tokens and sessions, in every process within a second. Returns
   * whether it existed. With an account, finds only that account's credentials, and the history of a connected app names the
   * account.
   */
  revoke(credentialId: string, change?: ConnectedAppChange): Promise<boolean>
  /**
   * Lists credentials, newest first, to the millisecond. For the next page, pass the last id as `after`. Without a
   * `limit`, returns all. With one, a page may have fewer rows if these are large. Only an empty page is the end.
   * Connected apps and sessions are listed only by their ids.
   */
  list(query?: CredentialsQuery): Promise<readonly CredentialRow[]>
}

/** What keys and access tokens have in common. */
export const bearerFields = {
  account: nameSchema,
  label: labelSchema.optional(),
  expiresAt: timeSchema.optional(),
  metadata: metadataSchema.optional(),
  limits: newLimitsSchema.optional(),
}
const limits = restriction(newLimitsSchema)
const keySchema = z.strictObject({ ...bearerFields, limits, allowedModels: restriction(keysSchema()) })
const reissueSchema = z.strictObject({
  expiresAt: timeSchema.nullable().optional(),
  previousExpiresAt: timeSchema.optional(),
  /** The credential has all of them, so there are at most as many as its own. */
  scopes: z
    .array(z.string())
    .transform((scopes): readonly string[] => [...new Set(scopes)])
    .optional(),
  was: z.custom<CredentialRow>().optional(),
})
const accessTokenSchema = z.strictObject({
  ...bearerFields,
  limits,
  appId: nameSchema,
  scopes: scopesSchema,
  terms: z.strictObject({ models: appModelsSchema(), markup: markupSchema }).optional(),
})

export function createKeysAdmin(
  database: SqlDatabase,
  keysPerAccount: number,
  recorder: Recorder,
): KeysAdmin {
  const newId = createIdSource()

  async function issue(
    kind: CredentialRow['kind'],
    request: KeyRequest &
      Partial<Omit<AccessTokenRequest, 'terms'>> & { readonly terms?: AppTerms | undefined },
  ): Promise<IssuedCredential> {
    const { account: _, metadata: __, ...terms } = request
    const credentialId = newId()
    const limits = newLimitsOf(credentialId, request.limits ?? [])
    const token = createToken(kind)
    const results = await database.batch([
      ...lockName(database, `compat_router.keys:${request.account}`),
      {
        text: `insert into {credentials}
            (id, kind, account, app_id, label, scopes, metadata, allowed_models, terms, created_at)
          select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?10, ${database.now}
          where (
            select count(*) from {credentials} c
            join {tokens} t on t.credential_id = c.id and t.revoked_at is null
            where c.account = ?3 and c.source = 'operator' and ${isInUse(database)}
          ) < cast(?9 as bigint)`,
        parameters: [
          credentialId,
          kind,
          request.account,
          request.appId ?? null,
          request.label ?? null,
          toJsonCell(request.scopes),
          toJsonCell(request.metadata),
          toJsonCell(request.allowedModels),
          BigInt(keysPerAccount),
          toJsonCell(request.terms),
        ],
      },
      ...limits.map((limit) => insertLimit(database, limit, credentialId)),
      recorder.record(
        { noun: 'credential', kind: 'issued', details: { kind, ...terms } },
        { text: 'select id, account from {credentials} where id = ?1', parameters: [credentialId] },
      ),
      insertToken(database, token, credentialId, request),
    ])
    if (results.at(-1)!.length === 0) throw tooManyKeys(request.account, keysPerAccount)
    return { credentialId, token }
  }

  return {
    issue: async (request) => issue('api-key', parseInput(keySchema, request, 'key')),

    async issueToken(request) {
      const read = parseInput(accessTokenSchema, request, 'access token')
      const [app] = (await listAppRows(database, { appIds: [read.appId] })).map(readAppRow)
      if (app === undefined) {
        throw new Refusal('not-found', `There is no app ${JSON.stringify(read.appId)}: register it first`)
      }
      if (!mayUse(app, read.account)) {
        throw new Refusal(
          'not-found',
          `There is no app ${JSON.stringify(read.appId)} for ${JSON.stringify(read.account)}: it is in test, for its owner and its testers`,
        )
      }
      const pinned = app.owner === undefined ? undefined : { models: app.allowedModels, markup: app.markup }
      return issue('access-token', { ...read, terms: read.terms ?? pinned })
    },

    async reissue(credentialId, options = {}) {
      parseField(idSchema, credentialId, 'credentialId')
      const { was, expiresAt, previousExpiresAt, scopes } = parseInput(reissueSchema, options, 'reissue')
      const [row] = await listCredentialRows(database, { credentialId })
      if (row === undefined) {
        throw new Refusal('not-found', `There is no credential ${JSON.stringify(credentialId)}`)
      }
      if (row.revoked_at !== null) throw revoked(credentialId)
      if (readText(row, 'source') !== 'operator') {
        throw new Refusal(
          'conflict',
          `The credential ${JSON.stringify(credentialId)} gets its tokens by itself, so it cannot be reissued: revoke it, and let the user connect again`,
        )
      }
      if (was !== undefined && !isSame(readCredentialRow(row), was)) throw changed(credentialId)
      checkScopes(row, scopes)
      const before = readOptionalNumber(row, 'expires_at')
      if (expiresAt === undefined && before !== undefined && before <= readNumber(row, 'now')) {
        throw new Refusal('conflict', 'must be given, or null for never: the previous token has expired', {
          of: 'reissue',
          field: 'expiresAt',
        })
      }
      const terms = { expiresAt: expiresAt === undefined ? before : (expiresAt ?? undefined), scopes }
      const token = createToken(readText(row, 'kind') as CredentialRow['kind'])
      const [locked, , made] = await database.batch([
        // Locks the row: a concurrent reissue waits here and then sees the token that this one adds.
        {
          text: 'update {credentials} set id = id where id = ?1 and revoked_at is null returning id',
          parameters: [credentialId],
        },
        replaceTokens(database, credentialId, {
          digest: was === undefined ? undefined : readText(row, 'digest'),
          until: previousExpiresAt,
        }),
        insertToken(database, token, credentialId, terms),
        recorder.record(
          { noun: 'credential', kind: 'reissued', details: present({ ...terms, previousExpiresAt }) },
          {
            text: `select c.id, c.account from {credentials} c
              join {tokens} t on t.credential_id = c.id where c.id = ?1 and t.digest = ?2`,
            parameters: [credentialId, digestToken(token)],
          },
        ),
        database.change('credentials', credentialId),
      ])
      if (locked!.length === 0) throw revoked(credentialId)
      if (made!.length === 0) throw changed(credentialId)
      return { credentialId, token }
    },

    async revoke(credentialId, change = {}) {
      parseField(idSchema, credentialId, 'credentialId')
      const { account } = parseInput(changeSchema, change, 'change')
      if (account !== undefined) {
        const [row] = await database.all({
          text: 'select id from {credentials} where id = ?1 and account = ?2',
          parameters: [credentialId, account],
        })
        if (row === undefined) return false
      }
      const by = account === undefined ? recorder : recorder.as(actorOf(account))
      return (await revokeCredential(database, newId(), credentialId, by)) !== undefined
    },

    list: async (query = {}) => (await listCredentialRows(database, query)).map(readCredentialRow),
  }
}

function tooManyKeys(account: string, keysPerAccount: number): Refusal {
  return new Refusal(
    'conflict',
    `The account ${JSON.stringify(account)} has ${keysPerAccount} keys and tokens in use, the most that are allowed. Revoke one first.`,
  )
}

/** A token may have fewer scopes than its credential, but no others. */
function checkScopes(row: Row, scopes: readonly string[] | undefined): void {
  const granted = new Set(readOptionalJson<string[]>(row, 'scopes'))
  const beyond = scopes?.find((scope) => !granted.has(scope))
  if (beyond !== undefined) {
    throw invalidInput(
      { of: 'reissue', field: 'scopes' },
      `the credential has no scope ${JSON.stringify(beyond)}`,
    )
  }
}

function revoked(credentialId: string): Refusal {
  return new Refusal('conflict', `The credential ${JSON.stringify(credentialId)} is revoked`)
}

function changed(credentialId: string): Refusal {
  return new Refusal(
    'conflict',
    `The credential ${JSON.stringify(credentialId)} has been reissued in the meantime, so no token was issued. Load it again.`,
  )
}

/**
 * Whether no token was issued between two readings. Meanwhile, a previous token may have ended, and the key may have been
 * used.
 */
function isSame(one: CredentialRow, other: CredentialRow): boolean {
  const [current, before] = [one, other].map(({ lastUsedAt: _, previousExpiresAt: __, ...rest }) => rest)
  return isDeepStrictEqual(current, before)
}

interface Replacing {
  /** The only token that may be the current one. If another one is, nothing changes, and no new token can be inserted. */
  readonly digest: string | undefined
  /** When the current token is revoked. At once if undefined. Tokens that were replaced before are revoked then at the latest. */
  readonly until: number | undefined
}

/** Returns the statement that revokes the tokens of a credential. A time to come revokes a token in the future. */
function replaceTokens(database: SqlDatabase, credentialId: string, { digest, until }: Replacing): Statement {
  const { now } = database
  const parameters: Parameter[] = [credentialId]
  const current = digest === undefined ? '' : `and o.digest = ?${parameters.push(digest)}`
  const end = until === undefined ? now : `cast(?${parameters.push(BigInt(until))} as bigint)`
  return {
    text: `update {tokens} set revoked_at = (select min(e.at) from (
          select ${end} as at union all select expires_at union all select revoked_at
        ) e)
      where credential_id = ?1 and (revoked_at is null or revoked_at > ${now})
        and exists (select 1 from {credentials} c where c.id = ?1 and c.revoked_at is null)
        and exists (select 1 from {tokens} o where o.credential_id = ?1 and o.revoked_at is null ${current})`,
    parameters,
  }
}

/** The scopes and the expiry of a token. By default it has all scopes of its credential and never expires. */
interface TokenTerms {
  readonly expiresAt?: number | undefined
  readonly scopes?: readonly string[] | undefined
}

/**
 * Returns the statement that adds a token to a credential. It has no effect if the credential is revoked or has a
 * token.
 */
function insertToken(
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
