import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { idShape, labelShape, nameShape, readShape, textsShape, timeShape } from '../contracts/shapes.js'
import { createIdSource } from '../ids.js'
import {
  readNumber,
  readOptionalJson,
  readOptionalNumber,
  readOptionalText,
  readText,
  toJsonCell,
} from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import { digestToken } from '../sql/credentials.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { Refusal } from '../sql/refusal.js'
import { checkLimit } from './limit.js'

export interface KeyRequest {
  /** Who pays. */
  readonly account: string
  /** Tells this key from the others to people. */
  readonly label?: string
  /** Milliseconds since the Unix epoch. Never by default. */
  readonly expiresAt?: number
  /** For the host's own `admit`. */
  readonly metadata?: Readonly<Record<string, string>>
}

export interface AccessTokenRequest extends KeyRequest {
  /** A registered app. */
  readonly appId: string
  /** Whole strings; chat completions need `models.run`. */
  readonly scopes: readonly string[]
}

export interface ReissueOptions {
  /** When the new token ends. Never by default, whenever the one before did. */
  readonly expiresAt?: number
  /** Some of the grant's scopes; all by default. */
  readonly scopes?: readonly string[]
  /** Rejects where this is no longer what is there: a row as {@link CredentialsAdmin.listCredentials} gave it. */
  readonly was?: CredentialRow
}

/** A credential just made. `token` is shown here and nowhere again. */
export interface IssuedCredential {
  readonly credentialId: string
  readonly token: string
}

/** What may be shown of a credential. */
export interface CredentialRow {
  readonly credentialId: string
  readonly kind: 'api-key' | 'access-token'
  readonly account: string
  readonly appId?: string
  readonly label?: string
  /** What the newest token may do: all of the grant, or less where it was reissued with less. */
  readonly scopes?: readonly string[]
  /** How the newest token starts and ends. */
  readonly prefix: string
  readonly lastFour: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

export interface CredentialsAdmin {
  /** Makes an API key. Only its digest is kept. */
  issueKey(request: KeyRequest): Promise<IssuedCredential>
  /** Lets an app act for an account. Rejects where the app is not registered. */
  issueAccessToken(request: AccessTokenRequest): Promise<IssuedCredential>
  /** A new token for a lost key or a grant, whose id stays; the ones before are revoked. */
  reissue(credentialId: string, options?: ReissueOptions): Promise<IssuedCredential>
  /** Ends a key or a grant with all its tokens, everywhere within a second. Returns whether there was one. */
  revoke(credentialId: string): Promise<boolean>
  /** The newest first, to the millisecond; the last one's id goes into `after` for the next page of `limit`. All without a limit. */
  listCredentials(query?: CredentialsQuery): Promise<readonly CredentialRow[]>
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

const KEY_PREFIX = 'sk-cr-'
const ACCESS_TOKEN_PREFIX = 'at-cr-'
const TOKEN_BYTES = 32
const SHOWN_CHARACTERS = KEY_PREFIX.length + 4

const keyFields = {
  account: nameShape,
  label: labelShape.optional(),
  expiresAt: timeShape.optional(),
  metadata: z.record(z.string(), z.string()).optional(),
}
const keyShape = z.strictObject(keyFields)
const reissueShape = z.strictObject({
  expiresAt: timeShape.optional(),
  scopes: textsShape.optional(),
  was: z.custom<CredentialRow>().optional(),
})
const accessTokenShape = z.strictObject({ ...keyFields, appId: nameShape, scopes: textsShape })

export function createCredentialsAdmin(database: SqlDatabase): CredentialsAdmin {
  const newId = createIdSource()

  async function issue(
    kind: CredentialRow['kind'],
    request: KeyRequest & Partial<Pick<AccessTokenRequest, 'appId' | 'scopes'>>,
  ): Promise<IssuedCredential> {
    const credentialId = newId()
    const token = createToken(kind)
    await database.batch([
      {
        text: `insert into {credentials}
            (id, kind, account, app_id, label, scopes, metadata, created_at)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ${database.now})`,
        parameters: [
          credentialId,
          kind,
          request.account,
          request.appId ?? null,
          request.label ?? null,
          toJsonCell(request.scopes),
          toJsonCell(request.metadata),
        ],
      },
      insertToken(token, credentialId, request),
    ])
    return { credentialId, token }
  }

  async function list(query: CredentialsQuery): Promise<readonly Row[]> {
    const { account, after, appId, credentialId, credentialIds, inUse, limit } = query
    checkLimit(limit)
    const { conditions, parameters, add, addOneOf, where } = createConditions()
    if (account !== undefined) add((value) => `c.account = ${value}`, account)
    if (appId !== undefined) add((value) => `c.app_id = ${value}`, appId)
    if (credentialId !== undefined) add((value) => `c.id = ${value}`, credentialId)
    if (credentialIds !== undefined) addOneOf('c.id', credentialIds)
    if (inUse === true) {
      conditions.push(`c.revoked_at is null and (t.expires_at is null or t.expires_at > ${database.now})`)
    }
    // Ids begin with the time at which they were made.
    if (after !== undefined) add((value) => `c.id < ${value}`, readShape(idShape, after, 'after'))
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

  /** Nothing where the credential is revoked, or has a token. */
  function insertToken(
    token: string,
    credentialId: string,
    { expiresAt, scopes }: ReissueOptions,
  ): Statement {
    return {
      text: `insert into {tokens} (digest, credential_id, prefix, last_four, scopes, expires_at, created_at)
        select ?1, c.id, ?3, ?4, ?5, cast(?6 as bigint), ${database.now} from {credentials} c
        where c.id = ?2 and c.revoked_at is null
          and not exists (select 1 from {tokens} t where t.credential_id = c.id and t.revoked_at is null)
        returning credential_id`,
      parameters: [
        digestToken(token),
        credentialId,
        token.slice(0, SHOWN_CHARACTERS),
        token.slice(-4),
        toJsonCell(scopes),
        expiresAt === undefined ? null : BigInt(expiresAt),
      ],
    }
  }

  return {
    issueKey: async (request) => issue('api-key', readShape(keyShape, request, 'key')),

    async issueAccessToken(request) {
      const read = readShape(accessTokenShape, request, 'access token')
      const apps = await database.all({
        text: 'select id from {apps} where id = ?1',
        parameters: [read.appId],
      })
      if (apps.length === 0) {
        throw new Refusal('not-found', `There is no app ${JSON.stringify(read.appId)}: register it first`)
      }
      return issue('access-token', read)
    },

    async reissue(credentialId, options = {}) {
      readShape(idShape, credentialId, 'credential id')
      const read = readShape(reissueShape, options, 'reissue')
      const [row] = await list({ credentialId })
      if (row === undefined) {
        throw new Refusal('not-found', `There is no credential ${JSON.stringify(credentialId)}`)
      }
      const revoked = () =>
        new Refusal('conflict', `The credential ${JSON.stringify(credentialId)} is revoked`)
      if (row.revoked_at !== null) throw revoked()
      const changed = () =>
        new Refusal(
          'conflict',
          `The credential ${JSON.stringify(credentialId)} has been given another token meanwhile: nothing was made. Load it again.`,
        )
      if (read.was !== undefined && !isDeepStrictEqual(readCredentialRow(row), read.was)) throw changed()
      const granted = readOptionalJson<string[]>(row, 'scopes') ?? []
      const beyond = read.scopes?.find((scope) => !granted.includes(scope))
      if (beyond !== undefined) {
        throw new TypeError(`reissue.scopes: the grant has no scope ${JSON.stringify(beyond)}`)
      }
      const token = createToken(readText(row, 'kind') as CredentialRow['kind'])
      const [locked, , made] = await database.batch([
        // Locks the row: who asks at the same time waits here, and then sees the token that this one adds.
        {
          text: 'update {credentials} set id = id where id = ?1 and revoked_at is null returning id',
          parameters: [credentialId],
        },
        {
          text: `update {tokens} set revoked_at = ${database.now} where credential_id = ?1 and revoked_at is null
            and exists (select 1 from {credentials} c where c.id = ?1 and c.revoked_at is null)
            ${read.was === undefined ? '' : 'and digest = ?2'}`,
          parameters: [credentialId, ...(read.was === undefined ? [] : [readText(row, 'digest')])],
        },
        insertToken(token, credentialId, read),
        database.change('credentials', credentialId),
      ])
      if (locked!.length === 0) throw revoked()
      if (made!.length === 0) throw changed()
      return { credentialId, token }
    },

    async revoke(credentialId) {
      readShape(idShape, credentialId, 'credential id')
      const [rows] = await database.batch([
        {
          text: `update {credentials} set revoked_at = coalesce(revoked_at, ${database.now})
            where id = ?1 returning id`,
          parameters: [credentialId],
        },
        database.change('credentials', credentialId),
      ])
      return rows!.length > 0
    },

    listCredentials: async (query = {}) => (await list(query)).map(readCredentialRow),
  }
}

function createToken(kind: CredentialRow['kind']): string {
  const prefix = kind === 'api-key' ? KEY_PREFIX : ACCESS_TOKEN_PREFIX
  return `${prefix}${randomBytes(TOKEN_BYTES).toString('base64url')}`
}

function readCredentialRow(row: Row): CredentialRow {
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
