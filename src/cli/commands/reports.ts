import { type Command, Option } from 'commander'
import type { SpendQuery } from '../../admin/index.js'
import type { Entry, EntryQuery } from '../../contracts/index.js'
import { formatTime } from '../session/output.js'
import { parseInteger, parseTime } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

interface ReportOptions {
  readonly account?: string
  readonly app?: string
  readonly model?: string
  readonly from?: number
  readonly to?: number
}

export function addReportCommands(program: Command, session: CommandContext): void {
  addFilters(program.command('entries').description('list postings, newest first'))
    .option('--session <id>', 'only entries of this session')
    .option('--after <cursor>', 'show the next page: the cursor that ended the previous one')
    .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
    .action(async (options: ReportOptions & { session?: string; after?: string; limit: number }) => {
      const query: EntryQuery = {
        ...toFilters(options),
        limit: options.limit,
        ...(options.session !== undefined && { sessionId: options.session }),
        ...(options.after !== undefined && { after: options.after }),
      }
      const page = await (await session.reader()).entries.list(query)
      session.show(
        page,
        page.entries.map((entry) => ({
          at: formatTime(entry.at),
          entry: entry.id,
          kind: entry.kind,
          account: entry.facts?.account ?? entry.postings[0]?.account,
          amount: amountOf(entry),
          model: entry.facts?.model,
          app: entry.facts?.appId,
          provider: entry.facts?.provider,
          reply: entry.facts?.completionId,
          memo: entry.memo,
        })),
      )
      if (page.next !== undefined) session.say(`More: --after ${page.next}`)
    })

  addFilters(program.command('spend').description('sum up charges'))
    .addOption(
      new Option('--by <group>', 'how to group the sums')
        .choices(['day', 'model', 'app', 'key', 'provider'])
        .default('day'),
    )
    .action(async (options: ReportOptions & { by: SpendQuery['by'] }) => {
      const rows = await (await session.reader()).reports.spend({ ...toFilters(options), by: options.by })
      session.show(
        rows,
        rows.map((row) => ({
          [options.by]: row.key,
          calls: row.calls,
          cost: row.cost,
          base: row.base,
          markup: row.markup,
          prompt: row.usage.prompt,
          completion: row.usage.completion,
        })),
      )
    })
}

/** Returns the change to the payer's balance, or the amount of a credit or a correction. */
function amountOf({ charge, refund, postings }: Entry): bigint | undefined {
  return charge === undefined ? (refund?.amount ?? postings[0]?.amount) : -charge.cost
}

function addFilters(command: Command): Command {
  return command
    .option('--account <account>', 'only this account')
    .option('--app <app>', 'only this app')
    .option('--model <model>', 'only this model')
    .option('--from <time>', 'at or after this time, such as 2027-01-31', parseTime)
    .option('--to <time>', 'before this time', parseTime)
}

function toFilters({ account, app, model, from, to }: ReportOptions) {
  return {
    ...(account !== undefined && { account }),
    ...(app !== undefined && { appId: app }),
    ...(model !== undefined && { model }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }
}
