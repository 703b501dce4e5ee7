import type { Command } from 'commander'
import type { OpenHoldsQuery } from '../../admin/index.js'
import { formatTime } from '../session/output.js'
import { parseInteger } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

export function addHoldCommands(program: Command, session: CommandContext): void {
  const holds = program.command('holds').description('manage the credit reserved for calls in flight')
  holds
    .command('list')
    .description('list open holds, the latest to expire first')
    .option('--account <account>', 'only this account')
    .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
    .action(async (query: OpenHoldsQuery) => {
      const rows = await (await session.reader()).maintenance.openHolds(query)
      session.show(
        rows,
        rows.map(({ account, amount, expiresAt, facts, holdId }) => ({
          hold: holdId,
          account,
          amount,
          model: facts?.model,
          expires: formatTime(expiresAt),
        })),
      )
    })
  holds
    .command('free <hold>')
    .description('release a hold and its Idempotency-Key; if its call still runs, it is charged all the same')
    .action(async (holdId: string) => {
      await (await session.admin()).maintenance.freeHold(holdId)
      session.say(`${holdId}: free`)
    })
}
