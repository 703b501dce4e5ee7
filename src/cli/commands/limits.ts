import { Option } from 'commander'
import type { LimitRequest, LimitRow, LimitsQuery } from '../../admin/index.js'
import { PERIOD_NAMES } from '../../base/periods.js'
import { formatTime } from '../context/output.js'
import { parseInteger } from '../context/parse.js'
import type { Noun } from './noun.js'

const UNITS = ['credits', 'requests', 'tokens']
const OWNERS = ['credential', 'account', 'app']

type PutOptions = Pick<LimitRequest, 'of' | 'unit' | 'per' | 'zone'> & { readonly owner: string }

export const limits: Noun = {
  about: 'budgets and rate limits of credentials, accounts and apps',
  verbs: {
    'put <limit> <amount>': (command, context) =>
      command
        .description('set a limit, or replace the one with this id, such as: limits put alice-budget 20')
        .requiredOption('--owner <id>', 'the id of the credential, account or app')
        .addOption(new Option('--of <kind>', 'what the owner is').choices(OWNERS).default('credential'))
        .addOption(new Option('--unit <unit>', 'what it counts').choices(UNITS).default('credits'))
        .addOption(
          new Option('--per <period>', 'when it starts again').choices(PERIOD_NAMES).default('month'),
        )
        .option('--zone <time zone>', 'of days, weeks and months, such as Europe/Paris; UTC by default')
        .action(async (id: string, amount: string, { owner, of, unit, per, zone }: PutOptions) => {
          const limit = { id, amount, of, ownerId: owner, unit, per, ...(zone !== undefined && { zone }) }
          await (await context.admin()).limits.put(limit)
          context.say(
            `${id}: ${amount} ${unit} ${per === 'total' ? 'in total' : `per ${per}`} for ${of} ${owner}`,
          )
        }),

    'remove <limit>': (command, context) =>
      command.description('remove a limit; calls in flight settle as always').action(async (id: string) => {
        const known = await (await context.admin()).limits.remove(id)
        if (!known) throw new Error(`There is no limit ${id}`)
        context.say(`${id}: removed`)
      }),

    list: (command, context) =>
      command
        .description('list limits, and what their present periods have used')
        .addOption(new Option('--of <kind>', 'only those of credentials, accounts or apps').choices(OWNERS))
        .option('--owner <id>', 'only those of this credential, account or app')
        .option('--after <limit>', 'continue after this limit')
        .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
        .action(async ({ owner, ...page }: LimitsQuery & { owner?: string; limit: number }) => {
          const rows = await (await context.reader()).limits.list({
            ...page,
            ...(owner !== undefined && { ownerId: owner }),
          })
          context.show(rows, rows.map(toLimitRow))
          if (rows.length === page.limit) context.say(`There may be more: --after ${rows.at(-1)?.id}`)
        }),
  },
}

/** Only amounts of credits are written as credits. Requests and tokens are numbers. */
function toLimitRow(row: LimitRow) {
  const shown = (value: bigint): bigint | string => (row.unit === 'credits' ? value : value.toString())
  return {
    limit: row.id,
    of: row.of,
    owner: row.ownerId,
    unit: row.unit,
    per: row.zone === undefined ? row.per : `${row.per} ${row.zone}`,
    amount: shown(row.amount),
    used: shown(row.used),
    held: shown(row.held),
    left: shown(row.left),
    ends: formatTime(row.endsAt),
  }
}
