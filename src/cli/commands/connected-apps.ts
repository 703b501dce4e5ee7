import { type Command, Option } from 'commander'
import type { CapRequest, ConnectedAppRow, ConnectedAppsQuery } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import { formatTime } from '../session/output.js'
import { readPages } from '../session/pages.js'
import { parseInteger } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

interface ListOptions {
  readonly account?: string
  readonly app?: string
  readonly inUse?: boolean
  readonly after?: string
  readonly limit: number
}

export function addConnectedAppCommands(program: Command, session: CommandContext): void {
  const grants = program
    .command('connected-apps')
    .description('manage the apps that users have connected, and what these may spend')
  grants
    .command('list')
    .description('list grants, newest first, with the spend of their present period')
    .option('--account <account>', 'only those of this account')
    .option('--app <app>', 'only those to this app')
    .option('--in-use', 'only those that are neither revoked nor over')
    .option('--after <id>', 'continue after this one')
    .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
    .action(async ({ app, ...page }: ListOptions) => {
      const query: ConnectedAppsQuery = { ...page, ...(app !== undefined && { appId: app }) }
      const reader = await session.reader()
      const rows = await readPages(
        (next) => reader.connectedApps.list({ ...query, ...next }),
        ({ id }) => id,
        page.limit,
      )
      session.show(rows, rows.map(toTableRow))
      if (rows.length === page.limit) session.say(`There may be more: --after ${rows.at(-1)?.id}`)
    })
  grants
    .command('history <id>')
    .description('list what happened to a grant, newest first')
    .action(async (grantId: string) => {
      const rows = await (await session.reader()).connectedApps.listHistory(grantId)
      session.show(
        rows,
        rows.map(({ at, by, kind, terms }) => ({
          at: formatTime(at),
          what: kind,
          by,
          terms: terms === undefined ? undefined : JSON.stringify(terms),
        })),
      )
    })
  grants
    .command('cap <id> <credits>')
    .description(
      'set what an app may spend of its user in each period, or none, such as: connected-apps cap 0197… 20',
    )
    .addOption(
      new Option('--per <period>', 'when it starts again').choices(['day', 'month']).default('month'),
    )
    .option(
      '--zone <time zone>',
      'of days and months, such as Europe/Paris; by default that of the present cap',
    )
    .action(async (grantId: string, amount: string, period: Omit<CapRequest, 'amount'>) => {
      const cap = amount === 'none' ? null : { ...period, amount }
      await (await session.admin()).connectedApps.setCap(grantId, cap)
      session.say(`${grantId}: ${cap === null ? 'no cap' : `${amount} credits per ${period.per}`}`)
    })
  grants
    .command('revoke <id>')
    .description('refuse all tokens of a grant everywhere within a second')
    .action(async (grantId: string) => {
      const isLive = await (await session.admin()).connectedApps.revoke(grantId)
      if (!isLive) throw new Error(`There is no connected app ${grantId} that is not revoked`)
      session.say(`${grantId}: revoked`)
    })
}

function toTableRow(row: ConnectedAppRow) {
  return {
    grant: row.id,
    account: row.account,
    app: row.appId,
    models: row.models.join(' '),
    cap: row.cap === undefined ? undefined : `${formatCredits(row.cap.amount)} per ${row.cap.per}`,
    spent: row.spent,
    devices: row.devices.length,
    used: formatTime(row.lastUsedAt),
    ends: formatTime(row.endsAt),
    revoked: formatTime(row.revokedAt),
  }
}
