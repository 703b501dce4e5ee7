import { z } from 'zod'
import { createIdSource } from '../base/ids.js'
import { parseCredits } from '../base/money.js'
import { Refusal } from '../base/refusal.js'
import { createToken, digestToken, shownParts } from '../base/tokens.js'
import type { Limit } from '../contracts/index.js'
import {
  budgetSchema,
  idSchema,
  keysSchema,
  labelSchema,
  nameSchema,
  originsSchema,
  parseField,
  parseInput,
  restriction,
  timeSchema,
  whose,
} from '../rules/schemas.js'
import { readNumber, readText, toJsonCell } from '../sql/cells.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { insertLimit } from '../sql/limit-rows.js'
import { lockName } from '../sql/locks.js'

/** A session of a signed-in user in a browser: a credential whose tokens live for minutes. */
export interface SessionRequest {
  /** The account that pays. */
  readonly account: string
  /** The origins of the pages that may use the tokens, such as `https://app.example`. The host's own is not added. */
  readonly origins: readonly string[]
  /** A name that distinguishes an account's sessions, such as the id of the host's login. Its holder can read it. */
  readonly label?: string
  /** An app that acts for the user, on the terms on which the user has connected it. The session ends when the user disconnects it. */
  readonly app?: string
  /** Model ids, compared as whole strings. All models by default, or those of the connected app. An empty list allows nothing. */
  readonly models?: readonly string[]
  /** The credits that the session may spend with all of its tokens. Other limits of the account apply as well. */
  readonly budget?: SessionBudget
  /** Milliseconds since the Unix epoch. Defaults to 12 hours from now, which is also the maximum. */
  readonly endsAt?: number
  /** The lifetime of a token in milliseconds: 1,000 to 43,200,000. 15 minutes by default. */
  readonly ttlMs?: number
}

export interface SessionBudget {
  /** Credits, a decimal string. */
  readonly amount: string
  /** `total` by default. */
  readonly per?: Limit['per']
  /** For days, weeks and months. UTC by default. */
  readonly zone?: string
}

/** A token of a session. It is never shown again. */
export interface SessionToken {
  /** The id of the session. It stays the same when the session is refreshed. */
  readonly credentialId: string
  readonly token: string
  /** The end of the token by the database's clock, in milliseconds since the Unix epoch. */
  readonly expiresAt: number
  /** The remaining lifetime of the token in milliseconds. */
  readonly ttlMs: number
}

export interface SessionsAdmin {
  /** Starts a session. Rejects if it names an app that the account has not connected. */
  issue(request: SessionRequest): Promise<SessionToken>
  /**
   * Issues a token of the account's live session with the same label, origins, app and models. Starts one if there is
   * none. So reloaded pages, and several at once, share a session and its budget.
   */
  resume(request: SessionRequest): Promise<SessionToken>
  /**
   * Issues another token of a session. Earlier tokens stay valid until they expire, so calls and other pages continue.
   * Rejects if the session or its connected app has ended or is revoked, or if it has 60 valid tokens.
   */
  refresh(credentialId: string, options?: { readonly ttlMs?: number }): Promise<SessionToken>
  /**
   * Revokes an account's live sessions, or only those with this label, in every process within a second. For a logout.
   * Returns their number.
   */
  revoke(query: { readonly account: string; readonly label?: string }): Promise<number>
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const LONGEST_MS = 43_200_000
const DEFAULT_TTL_MS = 15 * MINUTE_MS
const MAX_LIVE_TOKENS = 60
/** How long an expired token is kept, because a page that was asleep must be told `expired` and not `unknown`. */
const EXPIRED_TOKENS_KEPT_MS = LONGEST_MS
/** How long an ended session is kept, because events and recorded calls refer to it. */
const KEPT_MS = 30 * DAY_MS

const ttlSchema = z.int().min(1_000).max(LONGEST_MS).default(DEFAULT_TTL_MS)
/** The members that are the same for all sessions of a handler. */
export const sessionTerms = {
  origins: originsSchema,
  app: whose(nameSchema),
  models: restriction(keysSchema()),
  budget: restriction(budgetSchema),
  ttlMs: ttlSchema,
}
const sessionSchema = z.strictObject({
  ...sessionTerms,
  account: nameSchema,
  label: labelSchema.optional(),
  endsAt: timeSchema.optional(),
})
const refreshSchema = z.strictObject({ ttlMs: ttlSchema })
const revokeSchema = z.strictObject({ account: nameSchema, label: whose(labelSchema) })

type ReadRequest = z.infer<typeof sessionSchema>

export function createSessionsAdmin(database: SqlDatabase): SessionsAdmin {
  const newId = createIdSource()

  async function start(request: SessionRequest, mayResume: boolean): Promise<SessionToken> {
    const read = parseInput(sessionSchema, request, 'session')
    const credentialId = newId()
    const token = createToken('access-token')
    const session: Statement = mayResume
      ? { text: newestLive(database, read), parameters: termsOf(read) }
      : { text: 'select ?1 as id', parameters: [credentialId] }
    const results = await database.batch([
      // If two pages start at once, the second one finds the session of the first.
      ...lockName(database, `compat_router.sessions:${read.account}`),
      ...deleteOld(database, read.account),
      insertSession(database, credentialId, read, mayResume),
      ...(read.budget === undefined ? [] : [insertBudget(database, credentialId, read.budget)]),
      session,
      insertToken(database, token, read.ttlMs, session),
    ])
    const [[found], [inserted]] = results.slice(-2) as [Row[], Row[]]
    if (inserted !== undefined) return readToken(inserted, token)
    if (mayResume && typeof found?.id === 'string') throw tooManyTokens(found.id)
    throw new Refusal(
      'not-found',
      `The account ${JSON.stringify(read.account)} has not connected the app ${JSON.stringify(read.app)}`,
    )
  }

  return {
    issue: async (request) => start(request, false),

    resume: async (request) => start(request, true),

    async refresh(credentialId, options = {}) {
      parseField(idSchema, credentialId, 'sessionId')
      const { ttlMs } = parseInput(refreshSchema, options, 'refresh')
      const token = createToken('access-token')
      const [, inserted, found] = await database.batch([
        {
          text: `delete from {tokens} where credential_id = ?1 and expires_at <= ${database.now} - ${EXPIRED_TOKENS_KEPT_MS}`,
          parameters: [credentialId],
        },
        insertToken(database, token, ttlMs, { text: 'select ?1 as id', parameters: [credentialId] }),
        {
          text: `select c.revoked_at, g.revoked_at as grant_revoked_at,
              (select count(*) from {tokens} t where t.credential_id = c.id and t.expires_at > ${database.now}) as tokens
            from {credentials} c left join {credentials} g on g.id = c.parent_id
            where c.id = ?1 and c.source = 'session'`,
          parameters: [credentialId],
        },
      ])
      if (inserted![0] === undefined) throw refusalOf(credentialId, found![0])
      return readToken(inserted![0], token)
    },

    async revoke(query) {
      const { account, label } = parseInput(revokeSchema, query, 'revoke')
      const live = {
        text: `select id from {credentials} where account = ?1 and source = 'session' and revoked_at is null
          ${label === undefined ? '' : 'and label = ?2'}`,
        parameters: label === undefined ? [account] : [account, label],
      }
      const results = await database.batch([
        database.changeEach('credentials', live),
        {
          text: `update {credentials} set revoked_at = ${database.now} where id in (${live.text}) returning id`,
          parameters: live.parameters,
        },
      ])
      return results.at(-1)!.length
    },
  }
}

/** Returns the parameters `?1` to `?5` of {@link newestLive} and {@link insertSession}. */
function termsOf({ account, app, label, models, origins }: ReadRequest) {
  return [account, label ?? null, app ?? null, toJsonCell(models), JSON.stringify(origins)]
}

/** SQL for the newest live session of an account with the same terms. */
function newestLive({ now }: SqlDatabase, { app }: ReadRequest): string {
  return `select max(s.id) as id from {credentials} s left join {credentials} sg on sg.id = s.parent_id
    where s.account = ?1 and s.source = 'session' and s.revoked_at is null and s.ends_at > ${now}
      and coalesce(s.label, '') = coalesce(?2, '') and coalesce(s.app_id, '') = coalesce(?3, '')
      and coalesce(s.allowed_models, '') = coalesce(?4, '') and s.origins = ?5
      ${app === undefined ? '' : `and sg.revoked_at is null and coalesce(sg.ends_at, s.ends_at) > ${now}`}`
}

/** Adds a session, provided that its app is connected. With `mayResume`, only if there is no session to resume. */
function insertSession(
  database: SqlDatabase,
  credentialId: string,
  request: ReadRequest,
  mayResume: boolean,
): Statement {
  const { now } = database
  const { app, endsAt } = request
  const latest = `${now} + ${LONGEST_MS}`
  const conditions = [
    ...(mayResume
      ? [`not exists (select 1 from (${newestLive(database, request)}) n where n.id is not null)`]
      : []),
    ...(app === undefined
      ? []
      : [`g.source = 'connect' and g.revoked_at is null and (g.ends_at is null or g.ends_at > ${now})`]),
  ]
  return {
    text: `insert into {credentials}
        (account, label, app_id, allowed_models, origins, id, source, kind, parent_id, ends_at, created_at)
      select ?1, ?2, ?3, ?4, ?5, ?6, 'session', '${app === undefined ? 'api-key' : 'access-token'}',
        ${app === undefined ? 'null' : 'g.id'}, ${least(database, `coalesce(cast(?7 as bigint), ${latest})`, latest)}, ${now}
      from ${app === undefined ? '(select 1) one' : '{credentials} g'}
      where ${app === undefined ? '' : 'g.account = ?1 and g.app_id = ?3 and '}${conditions.join(' and ') || 'true'}`,
    parameters: [...termsOf(request), credentialId, endsAt === undefined ? null : BigInt(endsAt)],
  }
}

function insertBudget(
  database: SqlDatabase,
  credentialId: string,
  { amount, per, zone }: z.infer<typeof budgetSchema>,
): Statement {
  const budget: Limit = {
    id: `session-${credentialId}`,
    unit: 'credits',
    per,
    of: 'credential',
    amount: parseCredits(amount),
    ...(zone !== undefined && { zone }),
  }
  return insertLimit(database, budget, credentialId)
}

/** Adds a token to a live session that does not have too many. `session` is SQL for its id. */
function insertToken(database: SqlDatabase, token: string, ttlMs: number, session: Statement): Statement {
  const { now } = database
  const { prefix, lastFour } = shownParts(token)
  const { parameters = [] } = session
  const [digest, shown, last, ttl] = [1, 2, 3, 4].map((place) => `?${parameters.length + place}`)
  return {
    text: `insert into {tokens} (digest, credential_id, prefix, last_four, expires_at, created_at)
      select ${digest}, c.id, ${shown}, ${last},
        ${least(database, `${now} + cast(${ttl} as bigint)`, 'c.ends_at', 'coalesce(g.ends_at, c.ends_at)')}, ${now}
      from (${session.text}) s join {credentials} c on c.id = s.id left join {credentials} g on g.id = c.parent_id
      where c.source = 'session' and c.revoked_at is null and g.revoked_at is null
        and ${least(database, 'c.ends_at', 'coalesce(g.ends_at, c.ends_at)')} > ${now}
        and (select count(*) from {tokens} t where t.credential_id = c.id and t.expires_at > ${now}) < ${MAX_LIVE_TOKENS}
      returning credential_id, expires_at, created_at`,
    parameters: [...parameters, digestToken(token), prefix, lastFour, BigInt(ttlMs)],
  }
}

/** Deletes sessions of an account that ended long ago, and tokens of its sessions that expired long ago. */
function deleteOld({ now }: SqlDatabase, account: string): readonly Statement[] {
  const parameters = [account]
  const old = `select id from {credentials} where account = ?1 and source = 'session' and ends_at < ${now} - ${KEPT_MS}`
  return [
    {
      text: `delete from {tokens} where expires_at <= ${now} - ${EXPIRED_TOKENS_KEPT_MS}
        and credential_id in (select id from {credentials} where account = ?1 and source = 'session')`,
      parameters,
    },
    { text: `delete from {limits} where owner_kind = 'credential' and owner_id in (${old})`, parameters },
    { text: `delete from {credential_uses} where credential_id in (${old})`, parameters },
    { text: `delete from {credentials} where id in (${old})`, parameters },
  ]
}

function least({ engine }: SqlDatabase, ...values: readonly string[]): string {
  return `${engine === 'postgres' ? 'least' : 'min'}(${values.join(', ')})`
}

function readToken(row: Row, token: string): SessionToken {
  const expiresAt = readNumber(row, 'expires_at')
  return {
    credentialId: readText(row, 'credential_id'),
    token,
    expiresAt,
    ttlMs: expiresAt - readNumber(row, 'created_at'),
  }
}

function refusalOf(credentialId: string, row: Row | undefined): Refusal {
  const session = `The session ${JSON.stringify(credentialId)}`
  if (row === undefined)
    return new Refusal('not-found', `There is no session ${JSON.stringify(credentialId)}`)
  if (row.revoked_at !== null || row.grant_revoked_at !== null)
    return new Refusal('conflict', `${session} is revoked`)
  if (readNumber(row, 'tokens') >= MAX_LIVE_TOKENS) return tooManyTokens(credentialId)
  return new Refusal('conflict', `${session} has ended`)
}

function tooManyTokens(credentialId: string): Refusal {
  return new Refusal(
    'conflict',
    `The session ${JSON.stringify(credentialId)} has ${MAX_LIVE_TOKENS} live tokens: wait until one of them expires`,
  )
}
