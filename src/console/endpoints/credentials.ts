import { z } from 'zod'
import { mayUse } from '../../admin/app-rows.js'
import type { Admin, AppTerms, CredentialRow, CredentialsQuery, ReissueOptions } from '../../admin/index.js'
import type { Clock } from '../../base/clock.js'
import { formatCredits } from '../../base/money.js'
import { exceedsMarkup } from '../../rules/markups.js'
import {
  keysSchema,
  labelSchema,
  MAX_OWN_KEYS,
  markupSchema,
  metadataSchema,
  nameSchema,
  timeSchema,
} from '../../rules/schemas.js'
import type { CredentialsReply, CredentialView, IssuedReply, KeySpendReply } from '../protocol/index.js'
import { done, type Endpoint, get, limitSchema, post } from '../serving/endpoint.js'
import { HttpError, notFound } from '../serving/http-error.js'
import { limitsOf } from '../serving/limits.js'
import { readPage } from '../serving/page.js'
import { accountOf, type ConsoleViewer, changeBy, noAccount } from '../serving/viewer.js'
import { present } from '../serving/views.js'

const MAX_IDS = 200
const MAX_IDS_CHARS = 60_000
const PLAYGROUND_MS = 3_600_000
/** The longest life of such a key, plus a minute in case the database's clock differs. */
const PLAYGROUND_REACH_MS = PLAYGROUND_MS + 60_000
const PLAYGROUND_LABEL = 'Playground'
const RUN_SCOPES = ['models.run']

const bearerFields = {
  account: nameSchema,
  label: labelSchema.optional(),
  expiresAt: timeSchema.optional(),
  metadata: metadataSchema.optional(),
}

/** The terms of an app that the person has seen. */
const termsSchema = z.strictObject({ models: keysSchema(), markup: markupSchema })

export const credentialEndpoints: readonly Endpoint[] = [
  get(
    'credentials',
    'both',
    z.strictObject({
      account: nameSchema.optional(),
      appId: nameSchema.optional(),
      shown: z.enum(['in-use', 'playground', 'all']).default('all'),
      after: nameSchema.optional(),
      limit: limitSchema(200, 50),
    }),
    async (query, { viewer }, { admin, clock }): Promise<CredentialsReply> => {
      const { shown, limit: most, account, after, appId } = query
      const isPlayground = shown === 'playground'
      const madeSince = isPlayground ? clock.now() - PLAYGROUND_REACH_MS : 0
      const asked = { ...present({ appId, account: accountOf(viewer, account) }), inUse: shown !== 'all' }
      const list =
        shown === 'all'
          ? (page: CredentialsQuery) => admin.listCredentials({ ...asked, ...page })
          : (page: CredentialsQuery) =>
              listWanted(
                admin,
                { ...asked, ...page },
                madeSince,
                (row) => isOfPlayground(row) === isPlayground,
              )
      const { rows, ...next } = await readPage(list, most, after, ({ credentialId }) => credentialId)
      const credentials = rows.map(credentialView)
      const ids = credentials.map(({ credentialId }) => credentialId)
      const limits = await limitsOf(admin, 'credential', ids)
      return {
        credentials,
        limits,
        ...next,
      }
    },
  ),

  get(
    'credentials/spend',
    'both',
    z.strictObject({ ids: z.string().max(MAX_IDS_CHARS) }),
    async ({ ids }, { viewer }, { admin }): Promise<KeySpendReply> => {
      const credentialIds = ids.split(',').slice(0, MAX_IDS)
      const account = accountOf(viewer, undefined)
      const spend = await admin.spend(present({ by: 'key' as const, credentialIds, account }))
      return {
        spend: spend.flatMap(({ cost, key }) =>
          key === undefined ? [] : [{ credentialId: key, cost: formatCredits(cost) }],
        ),
      }
    },
  ),

  post(
    'credentials/playground',
    'both',
    z.strictObject({ account: nameSchema, appId: nameSchema.optional(), terms: termsSchema.optional() }),
    async ({ account, appId, terms }, { viewer }, { admin, clock }): Promise<IssuedReply> => {
      await checkAccount(account, viewer, admin)
      const expiresAt = clock.now() + PLAYGROUND_MS
      const key = { account, label: PLAYGROUND_LABEL, expiresAt }
      if (appId === undefined) return { ...(await admin.issueKey(key)), expiresAt }
      const pinned = await checkApp(appId, account, terms, admin)
      const token = { ...key, ...pinned, appId, scopes: RUN_SCOPES }
      return { ...(await admin.issueAccessToken(token)), expiresAt }
    },
  ),

  post(
    'credentials/issue-key',
    'both',
    z.strictObject({ ...bearerFields, allowedModels: keysSchema().optional() }),
    async (key, { viewer }, { admin, clock }) => {
      checkEnd(key.expiresAt, clock)
      await checkAccount(key.account, viewer, admin)
      checkMetadata(key.metadata, viewer)
      checkOwnKeys(key.allowedModels, 'allowedModels', viewer)
      return issued(await admin.issueKey(present(key)), key.expiresAt)
    },
  ),

  post(
    'credentials/issue-token',
    'both',
    z.strictObject({
      ...bearerFields,
      appId: nameSchema,
      scopes: keysSchema().default(RUN_SCOPES),
      terms: termsSchema.optional(),
    }),
    async ({ terms, ...grant }, { viewer }, { admin, clock }) => {
      checkEnd(grant.expiresAt, clock)
      await checkAccount(grant.account, viewer, admin)
      checkMetadata(grant.metadata, viewer)
      checkScopes(grant.scopes, RUN_SCOPES, viewer)
      const pinned = await checkApp(grant.appId, grant.account, terms, admin)
      return issued(await admin.issueAccessToken({ ...present(grant), ...pinned }), grant.expiresAt)
    },
  ),

  post(
    'credentials/reissue',
    'both',
    z.strictObject({
      credentialId: nameSchema,
      lastFour: z.string().optional(),
      expiresAt: timeSchema.optional(),
      scopes: keysSchema().optional(),
    }),
    async ({ credentialId, lastFour, ...asked }, { viewer }, { admin, clock }) => {
      checkEnd(asked.expiresAt, clock)
      const before = await findCredential(credentialId, viewer, admin)
      checkNewest(lastFour, before)
      const options = viewer.kind === 'operator' ? asked : withinRights(asked, before, viewer, clock)
      // The rights were read from this token, so `was` refuses the change if somebody has replaced the token meanwhile.
      return issued(
        await admin.reissue(credentialId, present({ ...options, was: before })),
        options.expiresAt,
      )
    },
  ),

  post(
    'credentials/revoke',
    'both',
    z.strictObject({ credentialId: nameSchema }),
    async ({ credentialId }, { viewer }, { admin }) => {
      await findCredential(credentialId, viewer, admin)
      return done(await admin.revoke(credentialId, changeBy(viewer)), 'credential', credentialId)
    },
  ),
]

const SCANNED_AT_ONCE = 500

/** Returns the first wanted rows that were made since `madeSince`. Reads in steps, since the database cannot apply `isWanted`. */
async function listWanted(
  admin: Admin,
  { limit: count = SCANNED_AT_ONCE, ...query }: CredentialsQuery,
  madeSince: number,
  isWanted: (row: CredentialRow) => boolean,
): Promise<readonly CredentialRow[]> {
  const found: CredentialRow[] = []
  let { after } = query
  for (;;) {
    const rows = await admin.listCredentials({ ...query, ...present({ after }), limit: SCANNED_AT_ONCE })
    found.push(...rows.filter(isWanted))
    const last = rows.at(-1)
    if (found.length >= count || last === undefined || last.createdAt < madeSince) {
      return found.slice(0, count)
    }
    after = last.credentialId
  }
}

/** Whether the playground made it: its keys last an hour. */
function isOfPlayground({ createdAt, expiresAt, label }: CredentialRow): boolean {
  return label === PLAYGROUND_LABEL && expiresAt !== undefined && expiresAt - createdAt <= PLAYGROUND_REACH_MS
}

function issued(made: { credentialId: string; token: string }, expiresAt: number | undefined): IssuedReply {
  return { ...made, ...(expiresAt === undefined ? {} : { expiresAt }) }
}

async function checkAccount(account: string, viewer: ConsoleViewer, admin: Admin): Promise<void> {
  accountOf(viewer, account)
  if ((await admin.findAccount(account)) === undefined) throw noAccount(account)
}

/** To a user, another account's credential looks as if it did not exist. */
async function findCredential(
  credentialId: string,
  viewer: ConsoleViewer,
  admin: Admin,
): Promise<CredentialRow> {
  const [row] = await admin.listCredentials({
    credentialId,
    ...(viewer.kind === 'user' ? { account: viewer.account } : {}),
  })
  if (row === undefined) {
    throw notFound(`There is no credential ${JSON.stringify(credentialId)}`, 'credentialId')
  }
  return row
}

/**
 * Returns the terms of a token of an app with an owner: those of the app, which must not be worse than the terms that the
 * person has seen. An app in test looks to strangers as if it did not exist.
 */
async function checkApp(
  appId: string,
  account: string,
  seen: z.infer<typeof termsSchema> | undefined,
  admin: Admin,
): Promise<{ readonly terms?: AppTerms }> {
  const [app] = await admin.listApps({ appIds: [appId] })
  if (app === undefined || app.suspendedAt !== undefined || !mayUse(app, account)) {
    throw notFound(`There is no app ${JSON.stringify(appId)}, or it is suspended`, 'appId')
  }
  const { allowedModels: models, markup, owner } = app
  const isWorse =
    seen !== undefined &&
    (exceedsMarkup(markup, seen.markup) || models.some((model) => !seen.models.includes(model)))
  if (isWorse) {
    throw new HttpError(
      409,
      `The app ${JSON.stringify(appId)} has changed its models or its markup since you opened this: no token was made. Reload it and try again.`,
    )
  }
  return owner === undefined ? {} : { terms: { models, markup } }
}

/** An expiry in the past can only be a mistake. */
function checkEnd(expiresAt: number | undefined, clock: Clock): void {
  if (expiresAt === undefined || expiresAt > clock.now()) return
  throw new HttpError(
    400,
    'expiresAt must be in the future. Omit it for a credential that never expires.',
    'expiresAt',
  )
}

/** Otherwise a token that somebody else has just been shown would stop working unnoticed. */
function checkNewest(lastFour: string | undefined, before: CredentialRow): void {
  if (lastFour === undefined || lastFour === before.lastFour) return
  throw new HttpError(
    409,
    `The token that ends in ${JSON.stringify(lastFour)} has been replaced since you opened this: no new token was made. Reload it and try again.`,
  )
}

/** The host's own limits may depend on it. */
function checkMetadata(metadata: unknown, { kind }: ConsoleViewer): void {
  if (metadata !== undefined && kind !== 'operator') {
    throw new HttpError(403, 'Only an operator may set metadata', 'metadata')
  }
}

/** A user makes many credentials, and each list of them reads their models. */
function checkOwnKeys(keys: readonly string[] = [], field: string, { kind }: ConsoleViewer): void {
  if (keys.length > MAX_OWN_KEYS && kind !== 'operator') {
    throw new HttpError(400, `${field} must have at most ${MAX_OWN_KEYS} items`, field)
  }
}

/** The host defines what a scope allows, and only an operator may grant one. */
function checkScopes(scopes: readonly string[], allowed: readonly string[], { kind }: ConsoleViewer): void {
  const beyond = scopes.find((scope) => !allowed.includes(scope))
  if (beyond !== undefined && kind !== 'operator') {
    throw new HttpError(403, `Only an operator may grant the scope ${JSON.stringify(beyond)}`, 'scopes')
  }
}

/** An operator may have made the previous token, so a user's replacement may not do more or last longer. */
function withinRights(
  asked: ReissueOptions,
  { expiresAt: end, scopes }: CredentialRow,
  viewer: ConsoleViewer,
  clock: Clock,
): ReissueOptions {
  checkScopes(asked.scopes ?? [], scopes ?? [], viewer)
  if (end !== undefined && end <= clock.now()) {
    throw new HttpError(
      403,
      'This credential has expired, and only an operator may renew it. Make a new one.',
    )
  }
  if (end !== undefined && (asked.expiresAt ?? end) > end) {
    throw new HttpError(
      403,
      'expiresAt must be no later than that of the previous token: only an operator may extend it. Omit it to keep the same time.',
      'expiresAt',
    )
  }
  return present({ expiresAt: end, scopes, ...asked })
}

function credentialView(row: CredentialRow): CredentialView {
  return { ...row }
}
