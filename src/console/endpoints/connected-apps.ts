import { z } from 'zod'
import type { Admin, ConnectedAppRow } from '../../admin/index.js'
import { present } from '../../base/present.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Context, DONE, done, get, limitSchema, post } from '../serving/endpoint.js'
import { notFound } from '../serving/http-error.js'
import { readPage } from '../serving/page.js'
import { accountOf, changeBy } from '../serving/viewer.js'

const connectedAppBody = z.strictObject({ connectedAppId: nameSchema })
/** `connectedApps.setCap` checks the cap itself. */
const capSchema = z.custom<Parameters<Admin['connectedApps']['setCap']>[1]>((cap) => typeof cap === 'object')

/** Apps that users have connected. To a user, another account's looks as if it did not exist. */
export const connectedAppEndpoints = [
  get(
    'connected-apps',
    'both',
    'connectedApps',
    z.strictObject({
      account: nameSchema.optional(),
      appId: nameSchema.optional(),
      /** Only this one. */
      connectedAppId: nameSchema.optional(),
      /** In use if neither revoked nor ended. */
      shown: z.enum(['in-use', 'all']).default('in-use'),
      after: nameSchema.optional(),
      limit: limitSchema(200, 50),
    }),
    async ({ shown, limit, account, appId, connectedAppId, after }, { viewer, admin }) => {
      const query = present({
        appId,
        account: accountOf(viewer, account),
        connectedAppIds: connectedAppId === undefined ? undefined : [connectedAppId],
        inUse: shown === 'in-use',
      })
      const list = (page: object) => admin.connectedApps.list({ ...query, ...page })
      const { rows, ...next } = await readPage(list, limit, after, ({ id }) => id)
      return { connectedApps: rows.map(connectedAppView), ...next }
    },
  ),
  get('connected-apps/history', 'both', 'history', connectedAppBody, async ({ connectedAppId }, context) => {
    await findConnectedApp(connectedAppId, context)
    return { history: await context.admin.connectedApps.listHistory(connectedAppId) }
  }),
  post(
    'connected-apps/set-cap',
    'both',
    'done',
    z.strictObject({ connectedAppId: nameSchema, cap: capSchema.nullable() }),
    async ({ connectedAppId, cap }, context) => {
      await findConnectedApp(connectedAppId, context)
      await context.admin.connectedApps.setCap(connectedAppId, cap, changeBy(context.viewer))
      return DONE
    },
  ),
  post(
    'connected-apps/revoke',
    'both',
    'done',
    connectedAppBody,
    async ({ connectedAppId }, { viewer, admin }) =>
      done(
        await admin.connectedApps.revoke(connectedAppId, changeBy(viewer)),
        'connected app',
        connectedAppId,
      ),
  ),
  post(
    'connected-apps/remove-device',
    'both',
    'done',
    connectedAppBody.extend({ connectionId: nameSchema }),
    async ({ connectedAppId, connectionId }, { viewer, admin }) =>
      done(
        await admin.connectedApps.removeDevice(connectedAppId, connectionId, changeBy(viewer)),
        'device',
        connectionId,
      ),
  ),
]

async function findConnectedApp(connectedAppId: string, { viewer, admin }: Context): Promise<void> {
  const [found] = await admin.connectedApps.list({ connectedAppIds: [connectedAppId], ...changeBy(viewer) })
  if (found === undefined)
    throw notFound(`There is no connected app ${JSON.stringify(connectedAppId)}`, 'connectedAppId')
}

/** What only an operator may do: remove a cap that is required, and change the period of one that has a maximum. */
function connectedAppView({ capRule, ...row }: ConnectedAppRow) {
  return {
    ...row,
    capRequired: capRule?.required === true ? true : undefined,
    capPer: capRule?.max === undefined ? undefined : capRule.per,
  }
}
