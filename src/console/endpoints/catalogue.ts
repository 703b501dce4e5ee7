import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Admin, AppRequest, AppRow, AppsQuery, ModelRequest, RouteRequest } from '../../admin/index.js'
import { missingModel } from '../../admin/route-faults.js'
import { nameSchema, parseInput } from '../../rules/schemas.js'
import type { AppsReply, ModelsReply, PutRouteReply, RotatedReply, RoutesReply } from '../protocol/index.js'
import { done, type Endpoint, emptySchema, get, limitSchema, post } from '../serving/endpoint.js'
import { HttpError } from '../serving/http-error.js'
import { limitsOf } from '../serving/limits.js'
import { type Page, readPage, searchPage } from '../serving/page.js'
import { present } from '../serving/views.js'

const appsQuery = z.strictObject({
  id: nameSchema.optional(),
  search: nameSchema.optional(),
  after: nameSchema.optional(),
  limit: limitSchema(200, 100),
})
const idBody = z.strictObject({ id: nameSchema })
/** `was` is the row that the change is based on; absent for a new row. */
interface Change {
  readonly was?: unknown
}
/** The administration functions check these bodies. */
const appBody = z.custom<AppRequest & Change>(() => true)
const modelBody = z.custom<ModelRequest & Change>(() => true)
const routeBody = z.custom<RouteRequest & Change>(() => true)

export const catalogueEndpoints: readonly Endpoint[] = [
  get('apps', 'both', appsQuery, async (query, { viewer }, { admin }): Promise<AppsReply> => {
    const { rows: apps, ...next } = await findApps(query, viewer.kind === 'operator', admin)
    if (viewer.kind === 'operator') {
      const ids = apps.map(({ id }) => id)
      return { apps, limits: await limitsOf(admin, 'app', ids), ...next }
    }
    return { apps: apps.map(publicApp), limits: [], ...next }
  }),
  post('apps/put', 'operator', appBody, async ({ was, ...app }, _, { admin }) => {
    const find = async (id: string) => (await admin.listApps({ appIds: [id] }))[0]
    await putUnchanged('app', app.id, was, find, (now) => admin.putApp(app, { was: now }))
    return { done: true }
  }),
  post('apps/suspend', 'operator', idBody, async ({ id }, _, { admin }) =>
    done(await admin.suspendApp(id), 'app', id),
  ),
  post('apps/resume', 'operator', idBody, async ({ id }, _, { admin }) =>
    done(await admin.resumeApp(id), 'app', id),
  ),

  get(
    'models',
    'both',
    emptySchema,
    async (_query, _request, { admin }): Promise<ModelsReply> => ({
      models: await admin.listModels(),
    }),
  ),
  post('models/put', 'operator', modelBody, async ({ was, ...model }, _, { admin }) => {
    const find = async (id: string) => (await admin.listModels({ modelIds: [id] }))[0]
    await putUnchanged('model', model.id, was, find, (now) => admin.putModel(model, { was: now }))
    return { done: true }
  }),
  post('models/remove', 'operator', idBody, async ({ id }, _, { admin }) =>
    done(await admin.removeModel(id), 'model', id),
  ),

  get(
    'routes',
    'operator',
    emptySchema,
    async (_query, _request, { admin, routers }): Promise<RoutesReply> => {
      const health = new Map(routers.routes().map((route) => [route.routeId, route]))
      const [listed, faults] = await Promise.all([admin.listRoutes(), admin.routeFaults()])
      return {
        routes: listed.map((route) =>
          present({ ...route, health: health.get(route.id), cannotBeUsed: faults.get(route.id) }),
        ),
      }
    },
  ),
  post(
    'routes/put',
    'operator',
    routeBody,
    async ({ was, ...route }, _, { admin }): Promise<PutRouteReply> => {
      checkRoute(route, admin)
      const find = async (id: string) => (await admin.listRoutes({ routeIds: [id] }))[0]
      await putUnchanged('route', route.id, was, find, (now) => admin.putRoute(route, { was: now }))
      const [model] = await admin.listModels({ modelIds: [route.model] })
      return model === undefined ? { done: true, warnings: [missingModel(route.model)] } : { done: true }
    },
  ),
  post('routes/remove', 'operator', idBody, async ({ id }, _, { admin }) =>
    done(await admin.removeRoute(id), 'route', id),
  ),
  post(
    'routes/rotate-secrets',
    'operator',
    emptySchema,
    async (_body, _request, { admin }): Promise<RotatedReply> => ({
      count: await admin.rotateSecrets(),
    }),
  ),
]

/** Users see only apps that they may all use. */
async function findApps(
  { id, search = '', after, limit }: z.infer<typeof appsQuery>,
  isForOperator: boolean,
  admin: Admin,
): Promise<Page<AppRow>> {
  const list = (page: Pick<AppsQuery, 'after' | 'limit'>) =>
    admin.listApps(id === undefined ? page : { ...page, appIds: [id] })
  if (isForOperator && search === '') return readPage(list, limit, after, (app) => app.id)
  const part = search.toLowerCase()
  const isFound = ({ id, name = '', suspendedAt, state }: AppRow): boolean =>
    (isForOperator || (suspendedAt === undefined && state !== 'test')) &&
    [id, name].some((text) => text.toLowerCase().includes(part))
  return searchPage(list, isFound, limit, after, (app) => app.id)
}

/** Stores a row, unless it would overwrite one that the client has not read, or that has changed since. */
async function putUnchanged<Row extends object>(
  what: 'app' | 'model' | 'route',
  given: string,
  was: unknown,
  find: (id: string) => Promise<Row | undefined>,
  put: (was: Row | null) => Promise<boolean>,
): Promise<void> {
  const id = parseInput(nameSchema, given, `${what}.id`)
  for (;;) {
    const stored = await find(id)
    checkUnchanged(what, id, was, stored)
    // If the row changes between the read and the put, nothing is stored, and the next read reports the change.
    if (await put(stored ?? null)) return
  }
}

function checkUnchanged(
  what: 'app' | 'model' | 'route',
  id: string,
  was: unknown,
  stored: object | undefined,
): void {
  const now: unknown = stored === undefined ? undefined : JSON.parse(JSON.stringify(stored))
  if (isDeepStrictEqual(now, was)) return
  if (was === undefined) {
    throw new HttpError(
      409,
      `The ${what} ${JSON.stringify(id)} already exists: nothing was saved. Choose another id, or change the existing ${what}.`,
      'id',
    )
  }
  const happened = stored === undefined ? 'removed' : 'changed'
  throw new HttpError(
    409,
    `The ${what} ${JSON.stringify(id)} has been ${happened} since you opened it: nothing was saved. Reload it and try again.`,
  )
}

/** Skips malformed values: the function that stores the route refuses them. */
function checkRoute({ adapter, settings = {} }: RouteRequest, admin: Admin): void {
  if (typeof adapter !== 'string' || typeof settings !== 'object' || settings === null) return
  const fault = admin.routeFault({ adapter, settings })
  if (fault !== undefined) throw new HttpError(400, `${fault.field} ${fault.message}`, fault.field)
}

/** Only operators see which account earns. */
function publicApp({ id, name: label, markup, allowedModels }: AppRow): AppsReply['apps'][number] {
  return { id, markup, allowedModels, ...(label === undefined ? {} : { name: label }) }
}
