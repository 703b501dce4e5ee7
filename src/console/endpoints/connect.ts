import { z } from 'zod'
import type { Admin, GrantRow } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import { nameSchema } from '../../rules/schemas.js'
import type { AppGrantsReply, AppGrantView, GrantHistoryReply } from '../protocol/index.js'
import { done, type Endpoint, get, limitSchema, post } from '../serving/endpoint.js'
import { notFound } from '../serving/http-error.js'
import { readPage } from '../serving/page.js'
import { accountOf, type ConsoleViewer, changeBy } from '../serving/viewer.js'
import { present } from '../serving/views.js'

const grantBody = z.strictObject({ grantId: nameSchema })
/** `setGrantCap` checks the cap itself. */
const capSchema = z.custom<Parameters<Admin['setGrantCap']>[1]>((cap) => typeof cap === 'object')

/** Users' grants to apps. To a user, another account's grant looks as if it did not exist. */
export const connectEndpoints: readonly Endpoint[] = [
  get(
    'grants',
    'both',
    z.strictObject({
      account: nameSchema.optional(),
      appId: nameSchema.optional(),
      shown: z.enum(['in-use', 'all']).default('in-use'),
      after: nameSchema.optional(),
      limit: limitSchema(200, 50),
    }),
    async ({ shown, limit, account, appId, after }, { viewer }, { admin }): Promise<AppGrantsReply> => {
      const query = present({ appId, account: accountOf(viewer, account), inUse: shown === 'in-use' })
      const { rows, ...next } = await readPage(
        (page) => admin.listGrants({ ...query, ...page }),
        limit,
        after,
        ({ id }) => id,
      )
      return { grants: rows.map(grantView), ...next }
    },
  ),

  get(
    'grants/history',
    'both',
    grantBody,
    async ({ grantId }, { viewer }, { admin }): Promise<GrantHistoryReply> => {
      await findGrant(grantId, viewer, admin)
      return { history: await admin.listGrantHistory(grantId) }
    },
  ),

  post(
    'grants/cap',
    'both',
    z.strictObject({ grantId: nameSchema, cap: capSchema.nullable() }),
    async ({ grantId, cap }, { viewer }, { admin }) => {
      await findGrant(grantId, viewer, admin)
      await admin.setGrantCap(grantId, cap, changeBy(viewer))
      return { done: true }
    },
  ),

  post('grants/revoke', 'both', grantBody, async ({ grantId }, { viewer }, { admin }) =>
    done(await admin.revokeGrant(grantId, changeBy(viewer)), 'connected app', grantId),
  ),

  post(
    'grants/remove-device',
    'both',
    z.strictObject({ grantId: nameSchema, connectionId: nameSchema }),
    async ({ grantId, connectionId }, { viewer }, { admin }) =>
      done(await admin.removeDevice(grantId, connectionId, changeBy(viewer)), 'device', connectionId),
  ),
]

async function findGrant(grantId: string, viewer: ConsoleViewer, admin: Admin): Promise<void> {
  const [grant] = await admin.listGrants({ grantIds: [grantId], ...changeBy(viewer) })
  if (grant === undefined) throw notFound(`There is no connected app ${JSON.stringify(grantId)}`, 'grantId')
}

function grantView({ cap, capRule, spent, ...grant }: GrantRow): AppGrantView {
  return {
    ...grant,
    ...(capRule?.required ? { capRequired: true } : {}),
    ...(cap === undefined ? {} : { cap: { ...cap, amount: formatCredits(cap.amount) } }),
    ...(spent === undefined ? {} : { spent: formatCredits(spent) }),
  }
}
