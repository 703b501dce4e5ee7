import type { Command } from 'commander'
import type { AccountRow, Admin, CreditRequest, PostedEntry } from '../../admin/index.js'
import { resembles } from '../../rules/read-options.js'
import type { CommandContext } from '../context/context.js'
import { formatTime } from '../context/output.js'
import { parseInteger } from '../context/parse.js'
import type { Noun } from './noun.js'
import { sayRepeat } from './repeats.js'

type Amount = Pick<CreditRequest, 'account' | 'amount' | 'reference' | 'memo'>
type PostOptions = Pick<Amount, 'reference' | 'memo'> & { readonly create?: boolean }
/** Accounts that are searched for a name like the one that was typed. */
const SEARCHED = 1_000

export const accounts: Noun = {
  about: 'accounts, which pay and earn',
  verbs: {
    'open <account>': (command, context) =>
      command.description('create an account without credits').action(async (account: string) => {
        const admin = await context.admin()
        await admin.accounts.open(account)
        context.say(`${account} is open`)
      }),

    'credit <account> <credits>': (command, context) =>
      post(command.description('add credits to an account'), context, (admin, request) =>
        admin.accounts.credit(request),
      ),

    'correct <account> <credits>': (command, context) =>
      post(
        command.description('add or take credits; write a negative amount as -- -1.50'),
        context,
        (admin, request) => admin.accounts.correct(request),
      ),

    'suspend <account>': (command, context) =>
      command
        .description('refuse all credentials of an account until it is resumed')
        .action(async (account: string) => {
          const known = await (await context.admin()).accounts.suspend(account)
          requireAccount(known, account)
          context.say(`${account}: suspended`)
        }),

    'resume <account>': (command, context) =>
      command.description('accept the credentials of an account again').action(async (account: string) => {
        const known = await (await context.admin()).accounts.resume(account)
        requireAccount(known, account)
        context.say(`${account}: resumed`)
      }),

    list: (command, context) =>
      command
        .description('list accounts and their balances')
        .option('--after <account>', 'continue after this account')
        .option('--limit <rows>', 'maximum number of rows', parseInteger, 100)
        .action(async (page: { after?: string; limit: number }) => {
          const rows = await (await context.reader()).accounts.list(page)
          context.show(rows, rows.map(toAccountRow))
          if (rows.length === page.limit) context.say(`There may be more: --after ${rows.at(-1)?.id}`)
        }),

    'balance <account>': (command, context) =>
      command.description('show the balance of an account, in credits').action(async (account: string) => {
        const balance = await (await context.reader()).accounts.balance(account)
        if (balance === undefined) throw new Error(`There is no account ${account}`)
        context.show(balance, [{ posted: balance.posted, held: balance.held, available: balance.available }])
      }),
  },
}

function post(
  command: Command,
  context: CommandContext,
  run: (admin: Admin, request: Amount) => Promise<PostedEntry>,
): void {
  command
    .option('--reference <text>', 'identifies this posting; a repeat posts nothing')
    .option('--memo <text>', 'the reason, shown with the entry')
    .option('--create', 'make the account if there is none of this name')
    .action(async (account: string, amount: string, { create, ...options }: PostOptions) => {
      const admin = await context.admin()
      if (create !== true) await checkAccount(admin, account)
      const entry = await run(admin, { account, amount, ...options })
      context.show(entry, [toPostedRow(entry)])
      if (entry.isRepeat) sayRepeat(context, options.reference, entry)
    })
}

/** Refuses an account that nobody has made: its name may be mistyped. */
async function checkAccount(admin: Admin, account: string): Promise<void> {
  if ((await admin.accounts.find(account)) !== undefined) return
  const known = await admin.accounts.list({ limit: SEARCHED })
  const meant = known.find(({ id }) => resembles(account, id))
  const hint = meant === undefined ? '' : ` Did you mean ${meant.id}?`
  throw new Error(`There is no account ${account}.${hint} To make it, add --create.`)
}

function requireAccount(known: boolean, account: string): void {
  if (!known) throw new Error(`There is no account ${account}`)
}

function toAccountRow(row: AccountRow) {
  return {
    account: row.id,
    posted: row.balance.posted,
    held: row.balance.held,
    available: row.balance.available,
    opened: formatTime(row.createdAt),
    suspended: formatTime(row.suspendedAt),
  }
}

function toPostedRow(entry: PostedEntry) {
  const [posting] = entry.postings
  return { entry: entry.id, kind: entry.kind, account: posting?.account, amount: posting?.amount }
}
