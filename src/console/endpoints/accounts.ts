import { z } from 'zod'
import type { Admin, CreditRequest, PostedEntry } from '../../admin/index.js'
import { present } from '../../base/present.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Context, get, limitSchema, post } from '../serving/endpoint.js'
import { limitsOf } from '../serving/limits.js'
import { accountOf, noAccount } from '../serving/viewer.js'
import { accountView, entryView } from '../serving/views.js'

const accountBody = z.strictObject({ account: nameSchema })
/** `credit` and `correct` check the members themselves. */
const amountBody = z.custom<CreditRequest>(() => true)

export const accountEndpoints = [
  get(
    'accounts',
    'both',
    'accounts',
    z.strictObject({
      /** Only the account with exactly this id. */
      account: nameSchema.optional(),
      after: nameSchema.optional(),
      limit: limitSchema(200, 50),
    }),
    async ({ account: asked, after, limit }, { viewer, admin }) => {
      const account = accountOf(viewer, asked)
      const rows =
        account === undefined
          ? await admin.accounts.list(present({ limit: limit + 1, after }))
          : [(await admin.accounts.find(account)) ?? []].flat()
      const accounts = rows.slice(0, limit).map(accountView)
      const ids = accounts.map(({ id }) => id)
      const limits = await limitsOf(admin, 'account', ids)
      return { accounts, limits, next: rows.length > limit ? ids.at(-1) : undefined }
    },
  ),

  post('accounts/open', 'operator', 'account', accountBody, async ({ account }, { admin }) => {
    await admin.accounts.open(account)
    return reply(admin, account)
  }),
  post('accounts/credit', 'operator', 'entry', amountBody, async (credit, context) =>
    posted(await context.admin.accounts.credit(credit), context),
  ),
  post('accounts/correct', 'operator', 'entry', amountBody, async (correction, context) =>
    posted(await context.admin.accounts.correct(correction), context),
  ),
  post('accounts/suspend', 'operator', 'account', accountBody, async ({ account }, { admin }) => {
    await admin.accounts.suspend(account)
    return reply(admin, account)
  }),
  post('accounts/resume', 'operator', 'account', accountBody, async ({ account }, { admin }) => {
    await admin.accounts.resume(account)
    return reply(admin, account)
  }),
]

async function reply(admin: Admin, account: string) {
  const row = await admin.accounts.find(account)
  if (row === undefined) throw noAccount(account)
  return { account: accountView(row) }
}

/**
 * Replies to a posting with its entry and the account that it was made to: the one that the credit or the correction names,
 * or the payer of the refunded charge. `isRepeat` if the reference had been posted before: `entry` is that earlier entry,
 * and nothing was posted now.
 */
export async function posted({ isRepeat, ...entry }: PostedEntry, { viewer, admin }: Context) {
  const { account } = entry.facts ?? entry.postings[0]!
  return { entry: entryView(entry, viewer, account, undefined), ...(await reply(admin, account)), isRepeat }
}
