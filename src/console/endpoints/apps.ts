import { z } from 'zod'
import type {
  Admin,
  AppRequest,
  AppReview,
  AppRow,
  AppsQuery,
  OwnAppRequest,
  ReviewedValues,
} from '../../admin/index.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Context, DONE, done, get, limitSchema, post } from '../serving/endpoint.js'
import { notFound } from '../serving/http-error.js'
import { limitsOf } from '../serving/limits.js'
import { type Page, readPage, searchPage } from '../serving/page.js'
import { type Change, putUnchanged } from '../serving/put-unchanged.js'
import { accountOf } from '../serving/viewer.js'

const ROWS_SHOWN = 50

const appsQuery = z.strictObject({
  /** Only this app. */
  id: nameSchema.optional(),
  /** Only apps that have this in their name or id, ignoring case. A page of a long search may be empty and have a `next`. */
  search: nameSchema.optional(),
  after: nameSchema.optional(),
  limit: limitSchema(200, 100),
})
const pageQuery = z.strictObject({ after: nameSchema.optional() })
const ownAppsQuery = pageQuery.extend({
  /** Only this app. */
  id: nameSchema.optional(),
})
const idBody = z.strictObject({ id: nameSchema })
const logoBody = z.strictObject({
  id: nameSchema,
  /** A PNG, JPEG or WebP picture; `null` removes the logo. */
  logo: z
    .base64()
    .transform((text) => new Uint8Array(Buffer.from(text, 'base64')))
    .nullable(),
})
/** The administration functions check these bodies. */
const appBody = z.custom<AppRequest & Change>(() => true)
const ownAppBody = z.custom<OwnAppRequest>(() => true)
const reviewSchema = z.custom<AppReview>((review) => typeof review === 'object' && review !== null)

/** Apps, those that users publish, and their review by operators. */
export const appEndpoints = [
  get('apps', 'both', 'apps', appsQuery, async (query, { viewer, admin }) => {
    const isForOperator = viewer.kind === 'operator'
    const { rows, ...next } = await findApps(query, isForOperator, admin)
    const apps = isForOperator ? rows : rows.map(publicApp)
    /** They count the calls of all users. */
    const limits = isForOperator ? await limitsOf(admin, 'app', rows.map(idOf)) : []
    return { apps, limits, ...next }
  }),
  post('apps/put', 'operator', 'done', appBody, async ({ was, ...app }, { admin }) => {
    const find = async (id: string) => (await admin.apps.list({ appIds: [id] }))[0]
    return putUnchanged('app', app.id, was, find, (now) => admin.apps.put(app, { was: now }))
  }),
  post('apps/suspend', 'operator', 'done', idBody, async ({ id }, { admin }) =>
    done(await admin.apps.suspend(id), 'app', id),
  ),
  post('apps/resume', 'operator', 'done', idBody, async ({ id }, { admin }) =>
    done(await admin.apps.resume(id), 'app', id),
  ),
  post('apps/put-logo', 'operator', 'done', logoBody, async ({ id, logo }, { admin }) =>
    done(await admin.apps.putLogo(id, logo), 'app', id),
  ),
  post('apps/remove', 'operator', 'done', idBody, async ({ id }, { admin }) =>
    done(await admin.apps.remove(id), 'app', id),
  ),

  /** The values that wait for an operator, each with the app as it is in force. */
  get('user-apps/reviews', 'operator', 'reviews', pageQuery, async ({ after }, { admin }) => {
    const list = (page: object) => admin.userApps.listReviews(page)
    const { rows, ...next } = await readPage(list, ROWS_SHOWN, after, ({ appId }) => appId)
    const apps = await admin.apps.list({ appIds: rows.map(({ appId }) => appId) })
    const byId = new Map(apps.map((app) => [app.id, app]))
    return { reviews: rows.map((review) => ({ ...review, app: byId.get(review.appId) })), ...next }
  }),
  get(
    'apps/logo',
    'operator',
    'picture',
    z.strictObject({ appId: nameSchema, hash: nameSchema }),
    async ({ appId, hash }, { admin }) => {
      const picture = await admin.apps.findLogo(appId, hash)
      if (picture === undefined) throw notFound(`The app ${JSON.stringify(appId)} has no such logo`, 'hash')
      return { picture }
    },
  ),
  /** An operator decides on the values that it has seen: if they have changed, the reply is 409. */
  post(
    'user-apps/decide-review',
    'operator',
    'done',
    z.strictObject({ review: reviewSchema, decision: z.enum(['accept', 'reject']) }),
    async ({ review, decision }, { admin }) => {
      await admin.userApps.decideReview(review, decision)
      return DONE
    },
  ),

  get('user-apps', 'publisher', 'ownApps', ownAppsQuery, async ({ after, id }, context) => {
    const { admin } = context
    const owner = ownerOf(context)
    const asked = id === undefined ? { owner } : { owner, appIds: [id] }
    const list = (page: object) => admin.apps.list({ ...page, ...asked })
    const { rows, ...next } = await readPage(list, ROWS_SHOWN, after, idOf)
    const reviews = await admin.userApps.listReviews({ appIds: rows.map(idOf) })
    const byId = new Map(reviews.map(({ appId, values }) => [appId, values]))
    return {
      ownApps: await Promise.all(rows.map((app) => ownAppView(admin, app, byId.get(app.id)))),
      ...next,
    }
  }),
  post('user-apps/put', 'publisher', 'inReview', ownAppBody, async (app, context) =>
    context.admin.userApps.put(ownerOf(context), app),
  ),
  post('user-apps/put-logo', 'publisher', 'inReview', logoBody, async ({ id, logo }, context) =>
    context.admin.userApps.putLogo(ownerOf(context), id, logo),
  ),
  post('user-apps/ask-for-review', 'publisher', 'done', idBody, async ({ id }, context) => {
    await context.admin.userApps.askForReview(ownerOf(context), id)
    return DONE
  }),
  post('user-apps/remove', 'publisher', 'done', idBody, async ({ id }, context) =>
    done(await context.admin.userApps.remove(ownerOf(context), id), 'app', id),
  ),
]

const idOf = ({ id }: AppRow): string => id

/** Users see only apps that they may all use. */
async function findApps(
  { id, search = '', after, limit }: z.infer<typeof appsQuery>,
  isForOperator: boolean,
  admin: Admin,
): Promise<Page<AppRow>> {
  const list = (page: Pick<AppsQuery, 'after' | 'limit'>) =>
    admin.apps.list(id === undefined ? page : { ...page, appIds: [id] })
  if (isForOperator && search === '') return readPage(list, limit, after, idOf)
  const part = search.toLowerCase()
  const isFound = ({ id, name = '', suspendedAt, state }: AppRow): boolean =>
    (isForOperator || (suspendedAt === undefined && state !== 'test')) &&
    [id, name].some((text) => text.toLowerCase().includes(part))
  return searchPage(list, isFound, limit, after, idOf)
}

/** Only operators see which account earns. */
function publicApp({ id, name, markup, allowedModels }: AppRow): AppRow {
  return { id, name, markup, allowedModels }
}

/** An operator has no account, and is refused before. */
function ownerOf({ viewer }: Context): string {
  return accountOf(viewer, undefined)!
}

/** The owner sees how many users there are, and never who they are. */
async function ownAppView(admin: Admin, app: AppRow, inReview: ReviewedValues | undefined) {
  const { id, name, markup, allowedModels, redirectUris, site, suggestedCap, suspendedAt, testers } = app
  return {
    id,
    name,
    markup,
    allowedModels,
    redirectUris,
    site,
    suggestedCap,
    testers,
    logo: app.logo?.hash,
    suspendedAt,
    /** The values that wait for an operator. */
    inReview,
    state: app.state ?? 'live',
    users: 0,
    calls: 0,
    earned: 0n,
    ...(await admin.reports.appFigures({ appId: id })),
  }
}
