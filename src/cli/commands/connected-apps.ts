import { Option } from 'commander'
import type { CapRequest, ConnectedAppRow, ConnectedAppsQuery } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import { CALENDAR_PERIODS } from '../../base/periods.js'
import { formatTime, showModels } from '../context/output.js'
import { readPages } from '../context/pages.js'
import { parseInteger } from '../context/parse.js'
import type { Noun } from './noun.js'

interface ListOptions {
  readonly account?: string
  readonly app?: string
  readonly inUse?: boolean
  readonly after?: string
  readonly limit: number
}

export const connectedApps: Noun = {
  about: 'apps that users have connected, and what these may spend',
  verbs: {
    list: (command, context) =>
      command
        .description('list connected apps, newest first, with the spend of their present period')
        .option('--account <account>', 'only those of this account')
        .option('--app <app>', 'only those of this app')
        .option('--in-use', 'only those that are neither revoked nor over')
        .option('--after <id>', 'continue after this one')
        .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
        .action(async ({ app, ...page }: ListOptions) => {
          const query: ConnectedAppsQuery = { ...page, ...(app !== undefined && { appId: app }) }
          const reader = await context.reader()
          const rows = await readPages(
            (next) => reader.connectedApps.list({ ...query, ...next }),
            ({ id }) => id,
            page.limit,
          )
          context.show(rows, rows.map(toTableRow))
          if (rows.length === page.limit) context.say(`There may be more: --after ${rows.at(-1)?.id}`)
        }),

    'list-history <id>': (command, context) =>
      command
        .description('list what happened to a connected app, newest first')
        .action(async (id: string) => {
          const rows = await (await context.reader()).connectedApps.listHistory(id)
          context.show(
            rows,
            rows.map(({ at, by, kind, terms }) => ({
              at: formatTime(at),
              what: kind,
              by,
              terms: terms === undefined ? undefined : JSON.stringify(terms),
            })),
          )
        }),

    'set-cap <id> <credits>': (command, context) =>
      command
        .description(
          'set what an app may spend of its user in each period, or none, such as: connected-apps set-cap 0197… 20',
        )
        .addOption(
          new Option('--per <period>', 'when it starts again').choices(CALENDAR_PERIODS).default('month'),
        )
        .option(
          '--zone <time zone>',
          'of days, weeks and months, such as Europe/Paris; by default that of the present cap',
        )
        .action(async (id: string, amount: string, period: Omit<CapRequest, 'amount'>) => {
          const cap = amount === 'none' ? null : { ...period, amount }
          await (await context.admin()).connectedApps.setCap(id, cap)
          context.say(`${id}: ${cap === null ? 'no cap' : `${amount} credits per ${period.per}`}`)
        }),

    'revoke <id>': (command, context) =>
      command
        .description('refuse all tokens of a connected app everywhere within a second')
        .action(async (id: string) => {
          const isLive = await (await context.admin()).connectedApps.revoke(id)
          if (!isLive) throw new Error(`There is no connected app ${id} that is not revoked`)
          context.say(`${id}: revoked`)
        }),
  },
}

function toTableRow(row: ConnectedAppRow) {
  return {
    id: row.id,
    account: row.account,
    app: row.appId,
    models: showModels(row.models),
    cap: row.cap === undefined ? undefined : `${formatCredits(row.cap.amount)} per ${row.cap.per}`,
    spent: row.spent,
    devices: row.devices.length,
    used: formatTime(row.lastUsedAt),
    ends: formatTime(row.endsAt),
    revoked: formatTime(row.revokedAt),
  }
}
