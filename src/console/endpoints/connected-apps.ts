import { z } from 'zod'
import type { Admin, ConnectedAppRow } from '../../admin/index.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Context, DONE, done, get, limitSchema, post } from '../serving/endpoint.js'
import { notFound } from '../serving/http-error.js'
import { readPage } from '../serving/page.js'
import { accountOf, changeBy } from '../serving/viewer.js'
import { present } from '../serving/views.js'

const grantBody = z.strictObject({ grantId: nameSchema })
/** `connectedApps.setCap` checks the cap itself. */
const capSchema = z.custom<Parameters<Admin['connectedApps']['setCap']>[1]>((cap) => typeof cap === 'object')

/** Apps that users have connected. To a user, another account's grant looks as if it did not exist. */
export const connectedAppEndpoints = [
  get(
    'connected-apps',
    'both',
    'grants',
    z.strictObject({
      account: nameSchema.optional(),
      appId: nameSchema.optional(),
      /** In use if neither revoked nor ended. */
      shown: z.enum(['in-use', 'all']).default('in-use'),
      after: nameSchema.optional(),
      limit: limitSchema(200, 50),
    }),
    async ({ shown, limit, account, appId, after }, { viewer, admin }) => {
      const query = present({ appId, account: accountOf(viewer, account), inUse: shown === 'in-use' })
      const list = (page: object) => admin.connectedApps.list({ ...query, ...page })
      const { rows, ...next } = await readPage(list, limit, after, ({ id }) => id)
      return { grants: rows.map(grantView), ...next }
    },
  ),
  get('connected-apps/history', 'both', 'history', grantBody, async ({ grantId }, context) => {
    await findConnectedApp(grantId, context)
    return { history: await context.admin.connectedApps.listHistory(grantId) }
  }),
  post(
    'connected-apps/cap',
    'both',
    'done',
    z.strictObject({ grantId: nameSchema, cap: capSchema.nullable() }),
    async ({ grantId, cap }, context) => {
      await findConnectedApp(grantId, context)
      await context.admin.connectedApps.setCap(grantId, cap, changeBy(context.viewer))
      return DONE
    },
  ),
  post('connected-apps/revoke', 'both', 'done', grantBody, async ({ grantId }, { viewer, admin }) =>
    done(await admin.connectedApps.revoke(grantId, changeBy(viewer)), 'connected app', grantId),
  ),
  post(
    'connected-apps/remove-device',
    'both',
    'done',
    grantBody.extend({ connectionId: nameSchema }),
    async ({ grantId, connectionId }, { viewer, admin }) =>
      done(
        await admin.connectedApps.removeDevice(grantId, connectionId, changeBy(viewer)),
        'device',
        connectionId,
      ),
  ),
]

async function findConnectedApp(grantId: string, { viewer, admin }: Context): Promise<void> {
  const [grant] = await admin.connectedApps.list({ connectedAppIds: [grantId], ...changeBy(viewer) })
  if (grant === undefined) throw notFound(`There is no connected app ${JSON.stringify(grantId)}`, 'grantId')
}

/** Only an operator may remove a cap that is required. */
function grantView({ capRule, ...grant }: ConnectedAppRow) {
  return { ...grant, capRequired: capRule?.required === true ? true : undefined }
}
