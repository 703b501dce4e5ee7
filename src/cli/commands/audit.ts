import { Option } from 'commander'
import { AUDIT_NOUNS } from '../../admin/audit.js'
import type { AuditQuery, AuditRow } from '../../admin/index.js'
import { present } from '../../base/present.js'
import { formatTime, type TableRow } from '../context/output.js'
import { parseInteger, parseTime } from '../context/parse.js'
import type { Noun } from './noun.js'

type ListOptions = Omit<AuditQuery, 'subjectId'> & { readonly id?: string; readonly limit: number }

export const audit: Noun = {
  about: 'who changed money, keys, limits, routes, models and apps',
  verbs: {
    list: (command, context) =>
      command
        .description('list changes, newest first')
        .option('--by <name>', 'only changes by this operator or account')
        .addOption(new Option('--noun <noun>', 'only changes of these').choices(AUDIT_NOUNS))
        .option('--id <id>', 'only changes of what has this id')
        .option('--account <account>', 'only changes that concern this account')
        .option('--from <time>', 'at or after this time, such as 2027-01-31', parseTime)
        .option('--to <time>', 'before this time', parseTime)
        .option('--after <change>', 'continue after this change')
        .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
        .action(async ({ id, ...query }: ListOptions) => {
          const rows = await (await context.reader()).audit.list({ ...query, ...present({ subjectId: id }) })
          context.show(rows, rows.map(toRow), 'no changes')
          if (rows.length === query.limit) context.say(`There may be more: --after ${rows.at(-1)?.id}`)
        }),
  },
}

function toRow({ at, by, byKind, noun, subjectId, kind, account, details }: AuditRow): TableRow {
  return {
    at: formatTime(at),
    by: byKind === 'account' ? `account ${by}` : by,
    change: `${noun} ${kind}`,
    id: subjectId,
    account,
    details: details === undefined ? undefined : JSON.stringify(details),
  }
}
