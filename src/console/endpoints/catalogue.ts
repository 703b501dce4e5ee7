import { z } from 'zod'
import type { Admin, LimitRequest, ModelRequest, RouteListing, RouteRequest } from '../../admin/index.js'
import { missingModel } from '../../admin/route-faults.js'
import type { RouteHealth } from '../../contracts/index.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Context, DONE, done, emptySchema, get, post } from '../serving/endpoint.js'
import { HttpError } from '../serving/http-error.js'
import { type Change, putUnchanged } from '../serving/put-unchanged.js'

const idBody = z.strictObject({ id: nameSchema })
/** The admin functions check these bodies. */
const modelBody = z.custom<ModelRequest & Change>(() => true)
const routeBody = z.custom<RouteRequest & Change>(() => true)
const limitBody = z.custom<LimitRequest>(() => true)

export interface RouteView extends RouteListing {
  /** Absent if no call on it has ended yet, or the console observes no router. */
  readonly health: RouteHealth | undefined
  /** Why no call can use it, as a text for people; absent if no reason is known. */
  readonly cannotBeUsed: string | undefined
}

export const catalogueEndpoints = [
  get('models', 'both', 'models', emptySchema, async (_, { admin }) => ({
    models: await admin.models.list(),
  })),
  post('models/put', 'operator', 'done', modelBody, async ({ was, ...model }, { admin }) => {
    const find = async (id: string) => (await admin.models.list({ modelIds: [id] }))[0]
    return putUnchanged('model', model.id, was, find, (now) => admin.models.put(model, { was: now }))
  }),
  post('models/remove', 'operator', 'done', idBody, async ({ id }, { admin }) =>
    done(await admin.models.remove(id), 'model', id),
  ),

  get('routes', 'operator', 'routes', emptySchema, async (_, context) => ({
    routes: await listRoutes(context),
  })),
  /** `warnings` are texts for people: the things that are missing before calls can use the stored route. */
  post('routes/put', 'operator', 'done', routeBody, async ({ was, ...route }, { admin }) => {
    checkRoute(route, admin)
    const find = async (id: string) => (await admin.routes.list({ routeIds: [id] }))[0]
    await putUnchanged('route', route.id, was, find, (now) => admin.routes.put(route, { was: now }))
    const [model] = await admin.models.list({ modelIds: [route.model] })
    return { ...DONE, warnings: model === undefined ? [missingModel(route.model)] : undefined }
  }),
  post('routes/remove', 'operator', 'done', idBody, async ({ id }, { admin }) =>
    done(await admin.routes.remove(id), 'route', id),
  ),

  post('limits/put', 'operator', 'done', limitBody, async (limit, { admin }) => {
    await admin.limits.put(limit)
    return DONE
  }),
  post('limits/remove', 'operator', 'done', idBody, async ({ id }, { admin }) =>
    done(await admin.limits.remove(id), 'limit', id),
  ),
]

/** The routes of the database, each with its health. */
export async function listRoutes({ admin, routers }: Context): Promise<readonly RouteView[]> {
  const health = new Map(routers.routes().map((route) => [route.routeId, route]))
  const [listed, faults] = await Promise.all([admin.routes.list(), admin.routes.faults()])
  return listed.map((route) => ({
    ...route,
    health: health.get(route.id),
    cannotBeUsed: faults.get(route.id),
  }))
}

/** Skips malformed values: the function that stores the route refuses them. */
function checkRoute({ adapter, settings = {} }: RouteRequest, admin: Admin): void {
  if (typeof adapter !== 'string' || typeof settings !== 'object' || settings === null) return
  const fault = admin.routes.fault({ adapter, settings })
  if (fault !== undefined) throw new HttpError(400, `${fault.field} ${fault.message}`, fault.field)
}
