import { z } from 'zod'
import { mayUse } from '../../admin/app-rows.js'
import type {
  Admin,
  AppTerms,
  CredentialRequest,
  CredentialRow,
  CredentialsQuery,
  ReissueOptions,
} from '../../admin/index.js'
import { bearerFields } from '../../admin/keys.js'
import { present } from '../../base/present.js'
import { includesModels } from '../../rules/app-models.js'
import { exceedsMarkup } from '../../rules/markups.js'
import {
  appModelsSchema,
  keysSchema,
  MAX_OWN_KEYS,
  markupSchema,
  nameSchema,
  timeSchema,
} from '../../rules/schemas.js'
import { type Context, done, get, limitSchema, post } from '../serving/endpoint.js'
import { HttpError, notFound } from '../serving/http-error.js'
import { limitsOf } from '../serving/limits.js'
import { readPage } from '../serving/page.js'
import { accountOf, changeBy, noAccount } from '../serving/viewer.js'

const MAX_IDS = 200
const MAX_IDS_CHARS = 60_000
const PLAYGROUND_MS = 3_600_000
/** The longest life of such a key, plus a minute in case the database's clock differs. */
const PLAYGROUND_REACH_MS = PLAYGROUND_MS + 60_000
const PLAYGROUND_LABEL = 'Playground'
const RUN_SCOPES = ['models.run']

/** The terms of an app that the person has seen. */
const termsSchema = z.strictObject({ models: appModelsSchema(), markup: markupSchema })

export const keyEndpoints = [
  get(
    'keys',
    'both',
    'credentials',
    z.strictObject({
      account: nameSchema.optional(),
      appId: nameSchema.optional(),
      /** Only this one. Connected apps and sessions are found by their ids alone. */
      credentialId: nameSchema.optional(),
      /** For operators, who alone are shown it: a name and a value, such as `team=blue`. */
      metadata: z
        .string()
        .regex(/^[^=]+=/, 'must be a name and a value, such as team=blue')
        .optional(),
      /** `in-use` omits the playground's own keys. */
      shown: z.enum(['in-use', 'playground', 'all']).default('all'),
      after: nameSchema.optional(),
      limit: limitSchema(200, 50),
    }),
    async ({ shown, limit, account, after, appId, credentialId, metadata }, { viewer, admin, clock }) => {
      if (metadata !== undefined && viewer.kind !== 'operator')
        throw new HttpError(403, 'Only operators see the metadata of keys', 'metadata')
      const isPlayground = shown === 'playground'
      const madeSince = isPlayground ? clock.now() - PLAYGROUND_REACH_MS : 0
      const asked = {
        ...present({
          appId,
          credentialId,
          account: accountOf(viewer, account),
          metadata: metadata === undefined ? undefined : namedOf(metadata),
        }),
        inUse: shown !== 'all',
      }
      const isWanted = (row: CredentialRow): boolean => isOfPlayground(row) === isPlayground
      const list = (page: CredentialsQuery) =>
        shown === 'all'
          ? admin.keys.list({ ...asked, ...page })
          : listWanted(admin, { ...asked, ...page }, madeSince, isWanted)
      const { rows, ...next } = await readPage(list, limit, after, idOf)
      const credentials = viewer.kind === 'operator' ? rows : rows.map(withoutMetadata)
      return { credentials, limits: await limitsOf(admin, 'credential', credentials.map(idOf)), ...next }
    },
  ),

  /** The sums that calls with these credentials cost, without those that cost nothing. For a user only its own credentials. */
  get(
    'keys/spend',
    'both',
    'spend',
    /** With commas between them, at most 200. */
    z.strictObject({ ids: z.string().max(MAX_IDS_CHARS) }),
    async ({ ids }, { viewer, admin }) => {
      const credentialIds = ids.split(',').slice(0, MAX_IDS)
      const account = accountOf(viewer, undefined)
      const spend = await admin.reports.spend(present({ by: 'key' as const, credentialIds, account }))
      return { spend: spend.map(({ cost, key }) => ({ credentialId: key, cost })) }
    },
  ),

  /** Makes an API key of the account, or with `appId` an access token of that app. It expires after an hour. */
  post(
    'keys/playground',
    'both',
    'token',
    z.strictObject({ account: nameSchema, appId: nameSchema.optional(), terms: termsSchema.optional() }),
    async ({ account, appId, terms }, context) => {
      await checkAccount(account, context)
      const expiresAt = context.clock.now() + PLAYGROUND_MS
      const key = { account, label: PLAYGROUND_LABEL, expiresAt }
      if (appId === undefined) return { ...(await context.admin.keys.issue(key)), expiresAt }
      const pinned = await checkApp(appId, account, terms, context)
      const token = { ...key, ...pinned, appId, scopes: RUN_SCOPES }
      return { ...(await context.admin.keys.issueToken(token)), expiresAt }
    },
  ),

  post(
    'keys/issue',
    'both',
    'token',
    z.strictObject({ ...bearerFields, allowedModels: keysSchema().optional() }),
    async (key, context) => {
      await checkBearer(key, context)
      checkOwnKeys(key.allowedModels, 'allowedModels', context)
      return { ...(await context.admin.keys.issue(present(key))), expiresAt: key.expiresAt }
    },
  ),

  post(
    'keys/issue-token',
    'both',
    'token',
    z.strictObject({
      ...bearerFields,
      appId: nameSchema,
      scopes: keysSchema().default(RUN_SCOPES),
      terms: termsSchema.optional(),
    }),
    async ({ terms, ...request }, context) => {
      await checkBearer(request, context)
      checkScopes(request.scopes, RUN_SCOPES, context)
      const pinned = await checkApp(request.appId, request.account, terms, context)
      const made = await context.admin.keys.issueToken({ ...present(request), ...pinned })
      return { ...made, expiresAt: request.expiresAt }
    },
  ),

  /** A user's new token has the scopes and the expiry of the previous one by default, and may not exceed them. */
  post(
    'keys/reissue',
    'both',
    'token',
    z.strictObject({
      credentialId: nameSchema,
      /** The last characters of the token to replace. */
      lastFour: z.string().optional(),
      /** Null for never. */
      expiresAt: timeSchema.nullable().optional(),
      /** Until when the token to replace works too. */
      previousExpiresAt: timeSchema.optional(),
      scopes: keysSchema().optional(),
    }),
    async ({ credentialId, lastFour, ...asked }, context) => {
      checkEnd(asked.expiresAt ?? undefined, context)
      const before = await findCredential(credentialId, context)
      checkNewest(lastFour, before)
      const options = context.viewer.kind === 'operator' ? asked : withinRights(asked, before, context)
      // The rights were read from this token, so `was` refuses the change if somebody has replaced the token meanwhile.
      const made = await context.admin.keys.reissue(credentialId, present({ ...options, was: before }))
      const end = options.expiresAt === undefined ? before.expiresAt : options.expiresAt
      return { ...made, expiresAt: end ?? undefined }
    },
  ),

  post(
    'keys/revoke',
    'both',
    'done',
    z.strictObject({ credentialId: nameSchema }),
    async ({ credentialId }, context) => {
      await findCredential(credentialId, context)
      const isRevoked = await context.admin.keys.revoke(credentialId, changeBy(context.viewer))
      return done(isRevoked, 'credential', credentialId)
    },
  ),
]

/** `team=blue` as an object. */
function namedOf(text: string): Readonly<Record<string, string>> {
  const at = text.indexOf('=')
  return { [text.slice(0, at)]: text.slice(at + 1) }
}

const idOf = ({ credentialId }: CredentialRow): string => credentialId

/** What a host notes about a key is for the host. */
export function withoutMetadata({ metadata: _, ...row }: CredentialRow): CredentialRow {
  return row
}

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
    const rows = await admin.keys.list({ ...query, ...present({ after }), limit: SCANNED_AT_ONCE })
    found.push(...rows.filter(isWanted))
    const last = rows.at(-1)
    if (found.length >= count || last === undefined || last.createdAt < madeSince) {
      return found.slice(0, count)
    }
    after = last.credentialId
  }
}

/** Whether the playground made it: its keys last an hour. */
export function isOfPlayground({ createdAt, expiresAt, label }: CredentialRow): boolean {
  return label === PLAYGROUND_LABEL && expiresAt !== undefined && expiresAt - createdAt <= PLAYGROUND_REACH_MS
}

async function checkAccount(account: string, { viewer, admin }: Context): Promise<void> {
  accountOf(viewer, account)
  if ((await admin.accounts.find(account)) === undefined) throw noAccount(account)
}

/** Checks what keys and tokens have in common. The host's own limits may depend on the metadata. */
async function checkBearer(
  { account, expiresAt, metadata }: CredentialRequest,
  context: Context,
): Promise<void> {
  checkEnd(expiresAt, context)
  await checkAccount(account, context)
  if (metadata !== undefined && context.viewer.kind !== 'operator') {
    throw new HttpError(403, 'Only an operator may set metadata', 'metadata')
  }
}

/** To a user, another account's credential looks as if it did not exist. */
async function findCredential(credentialId: string, { viewer, admin }: Context): Promise<CredentialRow> {
  const [row] = await admin.keys.list({ credentialId, ...changeBy(viewer) })
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
  { admin }: Context,
): Promise<{ readonly terms?: AppTerms }> {
  const [app] = await admin.apps.list({ appIds: [appId] })
  if (app === undefined || app.suspendedAt !== undefined || !mayUse(app, account)) {
    throw notFound(`There is no app ${JSON.stringify(appId)}, or it is suspended`, 'appId')
  }
  const { allowedModels: models, markup, owner } = app
  const isWorse =
    seen !== undefined && (exceedsMarkup(markup, seen.markup) || !includesModels(seen.models, models))
  if (isWorse) {
    throw new HttpError(
      409,
      `The app ${JSON.stringify(appId)} has changed its models or its markup since you opened this: no token was made. Reload it and try again.`,
    )
  }
  return owner === undefined ? {} : { terms: { models, markup } }
}

/** An expiry in the past can only be a mistake. */
function checkEnd(expiresAt: number | undefined, { clock }: Context): void {
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

/** A user makes many credentials, and each list of them reads their models. */
function checkOwnKeys(keys: readonly string[] = [], field: string, { viewer }: Context): void {
  if (keys.length > MAX_OWN_KEYS && viewer.kind !== 'operator') {
    throw new HttpError(400, `${field} must have at most ${MAX_OWN_KEYS} items`, field)
  }
}

/** The host defines what a scope allows, and only an operator may grant one. */
function checkScopes(scopes: readonly string[], allowed: readonly string[], { viewer }: Context): void {
  const beyond = scopes.find((scope) => !allowed.includes(scope))
  if (beyond !== undefined && viewer.kind !== 'operator') {
    throw new HttpError(403, `Only an operator may grant the scope ${JSON.stringify(beyond)}`, 'scopes')
  }
}

/** An operator may have made the previous token, so a user's replacement may not do more or last longer. */
function withinRights(
  asked: ReissueOptions,
  { expiresAt: end, scopes }: CredentialRow,
  context: Context,
): ReissueOptions {
  checkScopes(asked.scopes ?? [], scopes ?? [], context)
  if (end !== undefined && end <= context.clock.now()) {
    throw new HttpError(
      403,
      'This credential has expired, and only an operator may renew it. Make a new one.',
    )
  }
  if (end !== undefined && (asked.expiresAt === null || (asked.expiresAt ?? end) > end)) {
    throw new HttpError(
      403,
      'expiresAt must be no later than that of the previous token: only an operator may extend it. Omit it to keep the same time.',
      'expiresAt',
    )
  }
  return present({ scopes, ...asked })
}
