import type { Command } from 'commander'
import type { AccountRow, CreditRequest, RefundOptions } from '../../admin/index.js'
import type { Entry } from '../../contracts/index.js'
import { formatTime } from '../session/output.js'
import { parseInteger } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

export function addAccountCommands(program: Command, session: CommandContext): void {
  const accounts = program.command('accounts').description('manage accounts, which pay and earn')

  accounts
    .command('open <account>')
    .description('create an account without credits')
    .action(async (account: string) => {
      const admin = await session.admin()
      await admin.accounts.open(account)
      session.say(`${account} is open`)
    })

  accounts
    .command('list')
    .description('list accounts and their balances')
    .option('--after <account>', 'continue after this account')
    .option('--limit <rows>', 'maximum number of rows', parseInteger, 100)
    .action(async (page: { after?: string; limit: number }) => {
      const rows = await (await session.reader()).accounts.list(page)
      session.show(rows, rows.map(toAccountRow))
      if (rows.length === page.limit) session.say(`There may be more: --after ${rows.at(-1)?.id}`)
    })

  for (const [name, description] of [
    ['suspend', 'refuse all credentials of an account until it is resumed'],
    ['resume', 'accept the credentials of an account again'],
  ] as const) {
    accounts
      .command(`${name} <account>`)
      .description(description)
      .action(async (account: string) => {
        const admin = await session.admin()
        const known =
          name === 'suspend' ? await admin.accounts.suspend(account) : await admin.accounts.resume(account)
        if (!known) throw new Error(`There is no account ${account}`)
        session.say(`${account}: ${name === 'suspend' ? 'suspended' : 'resumed'}`)
      })
  }

  program
    .command('balance <account>')
    .description('show the balance of an account, in credits')
    .action(async (account: string) => {
      const balance = await (await session.reader()).accounts.balance(account)
      if (balance === undefined) throw new Error(`There is no account ${account}`)
      session.show(balance, [{ posted: balance.posted, held: balance.held, available: balance.available }])
    })

  for (const [name, description] of [
    ['credit', 'add credits to an account; creates it if needed'],
    ['correct', 'add or take credits; write a negative amount as -- -1.50'],
  ] as const) {
    program
      .command(`${name} <account> <credits>`)
      .description(description)
      .option('--reference <text>', 'identifies this posting; a repeat posts nothing')
      .option('--memo <text>', 'the reason, shown with the entry')
      .action(async (account: string, amount: string, options: Pick<CreditRequest, 'reference' | 'memo'>) => {
        const admin = await session.admin()
        const request = { account, amount, ...options }
        const entry =
          name === 'credit' ? await admin.accounts.credit(request) : await admin.accounts.correct(request)
        session.show(entry, [toPostedRow(entry)])
        if (entry.isRepeat) sayRepeat(session, options.reference, entry)
      })
  }
  addRefundCommand(program, session)
}

function addRefundCommand(program: Command, session: CommandContext): void {
  program
    .command('refund <entry> [credits]')
    .description('reverse a charge, or a part of it; everything that is left by default')
    .option('--reference <text>', 'identifies this posting; a repeat posts nothing')
    .option('--memo <text>', 'the reason, shown with the entry')
    .action(async (entryId: string, amount: string | undefined, options: RefundOptions) => {
      const entry = await (await session.admin()).entries.refund(entryId, amount, options)
      session.show(entry, [
        {
          entry: entry.id,
          kind: entry.kind,
          charge: entry.refund?.of,
          account: entry.facts?.account,
          amount: entry.refund?.amount,
        },
      ])
      if (entry.isRepeat) sayRepeat(session, options.reference, entry)
    })
}

function sayRepeat(session: CommandContext, reference: string | undefined, { at }: Entry): void {
  session.say(`Nothing was posted: ${reference} was already posted at ${formatTime(at)}`)
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
