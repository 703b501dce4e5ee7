import { z } from 'zod'
import type { Admin, GrantRequest, PostedEntry } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import { nameSchema } from '../../rules/schemas.js'
import type { AccountReply, AccountsReply, AccountView, PostedReply, VerifyReply } from '../protocol/index.js'
import { type Endpoint, emptySchema, get, limitSchema, post } from '../serving/endpoint.js'
import { limitsOf } from '../serving/limits.js'
import { accountOf, type ConsoleViewer, noAccount } from '../serving/viewer.js'
import { accountView, entryView, present } from '../serving/views.js'

const accountBody = z.strictObject({ account: nameSchema })
/** `grant` and `correct` check the members themselves. */
const grantBody = z.custom<GrantRequest>(() => true)

export const accountEndpoints: readonly Endpoint[] = [
  get(
    'accounts',
    'both',
    z.strictObject({
      account: nameSchema.optional(),
      after: nameSchema.optional(),
      limit: limitSchema(200, 50),
    }),
    async ({ account: asked, after, limit: most }, { viewer }, { admin }): Promise<AccountsReply> => {
      const account = accountOf(viewer, asked)
      if (account !== undefined) {
        const one = await admin.findAccount(account)
        if (one === undefined) return { accounts: [], limits: [] }
        return { accounts: [accountView(one)], limits: await limitsOf(admin, 'account', [account]) }
      }
      const rows = await admin.listAccounts({
        limit: most + 1,
        ...(after === undefined ? {} : { after }),
      })
      const accounts = rows.slice(0, most).map(accountView)
      const ids = accounts.map(({ id }) => id)
      const limits = await limitsOf(admin, 'account', ids)
      return { accounts, limits, ...(rows.length > most ? { next: accounts.at(-1)!.id } : {}) }
    },
  ),

  post('accounts/open', 'operator', accountBody, async ({ account }, _, { admin }) => {
    await admin.openAccount(account)
    return reply(admin, account)
  }),
  post('accounts/grant', 'operator', grantBody, async (grant, { viewer }, { admin }) =>
    posted(await admin.grant(grant), viewer, admin),
  ),
  post('accounts/correct', 'operator', grantBody, async (correction, { viewer }, { admin }) =>
    posted(await admin.correct(correction), viewer, admin),
  ),
  post('accounts/suspend', 'operator', accountBody, async ({ account }, _, { admin }) => {
    if (!(await admin.suspendAccount(account))) throw noAccount(account)
    return reply(admin, account)
  }),
  post('accounts/resume', 'operator', accountBody, async ({ account }, _, { admin }) => {
    if (!(await admin.resumeAccount(account))) throw noAccount(account)
    return reply(admin, account)
  }),

  post('books/verify', 'operator', emptySchema, async (_body, _request, { admin }): Promise<VerifyReply> => {
    const discrepancies = await admin.verify()
    return {
      isSound: discrepancies.length === 0,
      discrepancies: discrepancies.map(({ what, id, found, expected, message }) => ({
        what,
        id,
        found: formatCredits(found),
        expected: formatCredits(expected),
        message,
      })),
    }
  }),
]

async function reply(admin: Admin, account: string): Promise<AccountReply> {
  return { account: await viewOf(admin, account) }
}

/** Replies to a posting with its entry and the account that it was made to. */
export async function posted(
  posting: PostedEntry,
  viewer: ConsoleViewer,
  admin: Admin,
): Promise<PostedReply> {
  const { isRepeat, ...entry } = posting
  const { account } = entry.facts ?? entry.postings[0]!
  return present({
    entry: entryView(entry, viewer, account, undefined),
    account: await viewOf(admin, account),
    isRepeat,
  })
}

async function viewOf(admin: Admin, account: string): Promise<AccountView> {
  const row = await admin.findAccount(account)
  if (row === undefined) throw noAccount(account)
  return accountView(row)
}
