import type { Command } from 'commander'
import { parseInteger } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

export function addDatabaseCommands(program: Command, session: CommandContext): void {
  program
    .command('migrate')
    .description('bring the schema up to date; the stores do this themselves if they are allowed to')
    .action(async () => {
      const { where } = await session.database()
      session.say(`${where} is up to date`)
    })
  program
    .command('verify')
    .description('compare balances, holds and entries with all postings; exits with 1 if any differ')
    .action(async () => {
      const found = await (await session.reader()).maintenance.verify()
      session.show(
        found,
        found.map(({ message: _, ...row }) => row),
        'The books are sound: every balance, hold and charge adds up.',
      )
      for (const { message } of found) session.say(message)
      if (found.length > 0) {
        const count = found.length === 1 ? '1 difference' : `${found.length} differences`
        throw new Error(`The books do not add up: ${count}`)
      }
    })
  program
    .command('prune-holds')
    .description('delete holds that ended long ago; entries stay')
    .option('--days <days>', 'at least 30', parseInteger, 90)
    .action(async ({ days }: { days: number }) => {
      const count = await (await session.admin()).maintenance.pruneHolds(days)
      session.say(`${count === 1 ? '1 hold' : `${count} holds`} deleted`)
    })
}
