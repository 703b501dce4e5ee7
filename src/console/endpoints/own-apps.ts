import { z } from 'zod'
import type { Admin, AppReview, AppRow, OwnAppRequest } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import { nameSchema } from '../../rules/schemas.js'
import type { OwnAppReply, OwnAppsReply, OwnAppView, ReviewsReply } from '../protocol/index.js'
import {
  done,
  type Endpoint,
  type EndpointRequest,
  get,
  type PictureReply,
  post,
} from '../serving/endpoint.js'
import { notFound } from '../serving/http-error.js'
import { readPage } from '../serving/page.js'
import { accountOf } from '../serving/viewer.js'

const ROWS_SHOWN = 50

const pageQuery = z.strictObject({ after: nameSchema.optional() })
const idBody = z.strictObject({ id: nameSchema })
const logoBody = z.strictObject({
  id: nameSchema,
  logo: z
    .base64()
    .transform((text) => new Uint8Array(Buffer.from(text, 'base64')))
    .nullable(),
})
/** The administration functions check these bodies. */
const ownAppBody = z.custom<OwnAppRequest>(() => true)
const reviewSchema = z.custom<AppReview>((review) => typeof review === 'object' && review !== null)

/** Apps that users publish, and their review by operators. */
export const ownAppEndpoints: readonly Endpoint[] = [
  get('own-apps', 'publisher', pageQuery, async ({ after }, request, { admin }): Promise<OwnAppsReply> => {
    const owner = ownerOf(request)
    const { rows: apps, ...next } = await readPage(
      (page) => admin.listApps({ ...page, owner }),
      ROWS_SHOWN,
      after,
      ({ id }) => id,
    )
    const reviews = await reviewsOf(admin, apps)
    return {
      ownApps: await Promise.all(apps.map((app) => ownAppView(admin, app, reviews.get(app.id)))),
      ...next,
    }
  }),
  post('own-apps/put', 'publisher', ownAppBody, async (app, request, { admin }): Promise<OwnAppReply> => {
    return admin.putOwnApp(ownerOf(request), app)
  }),
  post(
    'own-apps/logo',
    'publisher',
    logoBody,
    async ({ id, logo }, request, { admin }): Promise<OwnAppReply> => {
      return admin.putOwnAppLogo(ownerOf(request), id, logo)
    },
  ),
  post('own-apps/ask', 'publisher', idBody, async ({ id }, request, { admin }) => {
    await admin.askForReview(ownerOf(request), id)
    return { done: true }
  }),
  post('own-apps/remove', 'publisher', idBody, async ({ id }, request, { admin }) => {
    return done(await admin.removeOwnApp(ownerOf(request), id), 'app', id)
  }),

  get('app-reviews', 'operator', pageQuery, async ({ after }, _, { admin }): Promise<ReviewsReply> => {
    const { rows: reviews, ...next } = await readPage(
      (page) => admin.listAppReviews(page),
      ROWS_SHOWN,
      after,
      ({ appId }) => appId,
    )
    const apps = await admin.listApps({ appIds: reviews.map(({ appId }) => appId) })
    const byId = new Map(apps.map((app) => [app.id, app]))
    return {
      reviews: reviews.map((review) => {
        const app = byId.get(review.appId)
        return { ...review, ...(app === undefined ? {} : { app }) }
      }),
      ...next,
    }
  }),
  get(
    'app-reviews/logo',
    'operator',
    z.strictObject({ appId: nameSchema, hash: nameSchema }),
    async ({ appId, hash }, _, { admin }): Promise<PictureReply> => {
      const picture = await admin.findAppLogo(appId, hash)
      if (picture === undefined) throw notFound(`The app ${JSON.stringify(appId)} has no such logo`, 'hash')
      return { picture }
    },
  ),
  post(
    'app-reviews/decide',
    'operator',
    z.strictObject({ review: reviewSchema, decision: z.enum(['accept', 'reject']) }),
    async ({ review, decision }, _, { admin }) => {
      await admin.decideAppReview(review, decision)
      return { done: true }
    },
  ),
  post('apps/logo', 'operator', logoBody, async ({ id, logo }, _, { admin }) =>
    done(await admin.putAppLogo(id, logo), 'app', id),
  ),
  post('apps/remove', 'operator', idBody, async ({ id }, _, { admin }) =>
    done(await admin.removeApp(id), 'app', id),
  ),
]

/** An operator has no account, and is refused before. */
function ownerOf({ viewer }: EndpointRequest): string {
  return accountOf(viewer, undefined)!
}

async function reviewsOf(
  admin: Admin,
  apps: readonly AppRow[],
): Promise<ReadonlyMap<string, AppReview['values']>> {
  const reviews = await admin.listAppReviews({ appIds: apps.map(({ id }) => id) })
  return new Map(reviews.map(({ appId, values }) => [appId, values]))
}

/** The owner sees how many users there are, and never who they are. */
async function ownAppView(
  admin: Admin,
  app: AppRow,
  inReview: AppReview['values'] | undefined,
): Promise<OwnAppView> {
  const { id, name, markup, allowedModels, redirectUris, site, suggestedCap, testers } = app
  const figures = await admin.appFigures({ appId: id })
  return {
    id,
    markup,
    allowedModels,
    ...(name === undefined ? {} : { name }),
    ...(redirectUris === undefined ? {} : { redirectUris }),
    ...(site === undefined ? {} : { site }),
    ...(suggestedCap === undefined ? {} : { suggestedCap }),
    ...(testers === undefined ? {} : { testers }),
    ...(app.logo === undefined ? {} : { logo: app.logo.hash }),
    ...(app.suspendedAt === undefined ? {} : { suspendedAt: app.suspendedAt }),
    ...(inReview === undefined ? {} : { inReview }),
    state: app.state ?? 'live',
    users: figures?.users ?? 0,
    calls: figures?.calls ?? 0,
    earned: formatCredits(figures?.earned ?? 0n),
  }
}
