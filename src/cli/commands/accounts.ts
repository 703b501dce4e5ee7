import type { Command } from 'commander'
import type { AccountRow, GrantRequest } from '../../admin/index.js'
import type { Entry } from '../../contracts/index.js'
import { formatTime } from '../session/output.js'
import { parseInteger } from '../session/parse.js'
import type { Session } from '../session/session.js'

export function addAccountCommands(program: Command, session: Session): void {
  const accounts = program.command('accounts').description('who pays and who earns')

  accounts
    .command('open <account>')
    .description('make an account without credits')
    .action(async (account: string) => {
      const admin = await session.admin()
      await admin.openAccount(account)
      session.say(`${account} is open`)
    })

  accounts
    .command('list')
    .description('accounts and their balances')
    .option('--after <account>', 'go on behind this one')
    .option('--limit <rows>', 'how many', parseInteger, 100)
    .action(async (page: { after?: string; limit: number }) => {
      const rows = await (await session.reader()).listAccounts(page)
      session.show(rows, rows.map(toAccountRow))
      if (rows.length === page.limit) session.say(`There may be more: --after ${rows.at(-1)?.id}`)
    })

  for (const [name, description] of [
    ['suspend', 'refuse all its credentials until resumed'],
    ['resume', 'accept its credentials again'],
  ] as const) {
    accounts
      .command(`${name} <account>`)
      .description(description)
      .action(async (account: string) => {
        const admin = await session.admin()
        const known =
          name === 'suspend' ? await admin.suspendAccount(account) : await admin.resumeAccount(account)
        if (!known) throw new Error(`There is no account ${account}`)
        session.say(`${account}: ${name === 'suspend' ? 'suspended' : 'resumed'}`)
      })
  }

  program
    .command('balance <account>')
    .description('what an account has, in credits')
    .action(async (account: string) => {
      const balance = await (await session.reader()).balance(account)
      if (balance === undefined) throw new Error(`There is no account ${account}`)
      session.show(balance, [{ posted: balance.posted, held: balance.held, available: balance.available }])
    })

  for (const [name, description] of [
    ['grant', 'add credits to an account, which is made if there is none'],
    ['correct', 'add credits or take them away (-- -1.50)'],
  ] as const) {
    program
      .command(`${name} <account> <credits>`)
      .description(description)
      .option('--reference <text>', 'names this posting: the same again posts nothing')
      .option('--memo <text>', 'why')
      .action(async (account: string, amount: string, options: Pick<GrantRequest, 'reference' | 'memo'>) => {
        const admin = await session.admin()
        const request = { account, amount, ...options }
        const entry = name === 'grant' ? await admin.grant(request) : await admin.correct(request)
        session.show(entry, [toPostedRow(entry)])
        if (entry.isRepeat) {
          session.say(`Nothing was posted: ${options.reference} had been, at ${formatTime(entry.at)}`)
        }
      })
  }
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

function toPostedRow(entry: Entry) {
  const [posting] = entry.postings
  return { entry: entry.id, kind: entry.kind, account: posting?.account, amount: posting?.amount }
}
