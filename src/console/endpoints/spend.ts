import { z } from 'zod'
import type { SpendQuery as AdminSpendQuery } from '../../admin/index.js'
import { formatCredits } from '../../money.js'
import { type Column, csvHeader, csvLine } from '../csv.js'
import type { SpendReply, SpendRow, StatementReply } from '../protocol.js'
import { accountOf, type ConsoleViewer, noAccount } from '../viewer.js'
import { spendSums } from '../views.js'
import { type Endpoint, get, name, needed, type Services, time } from './endpoint.js'

const spendQuery = z.strictObject({
  by: z.enum(['day', 'model', 'app', 'key', 'provider']),
  account: name.optional(),
  appId: name.optional(),
  model: name.optional(),
  from: time.optional(),
  to: time.optional(),
})

type Query = z.infer<typeof spendQuery>

const columns = (by: Query['by']): readonly Column<SpendRow>[] => [
  { name: by, of: (row) => row.key },
  { name: 'name', of: (row) => row.name },
  { name: 'calls', kind: 'number', of: (row) => row.calls },
  { name: 'cost', kind: 'number', of: (row) => row.cost },
  { name: 'base', kind: 'number', of: (row) => row.base },
  { name: 'markup', kind: 'number', of: (row) => row.markup },
  { name: 'prompt_tokens', kind: 'number', of: (row) => row.usage.prompt },
  { name: 'cached_tokens', kind: 'number', of: (row) => row.usage.cached },
  { name: 'cache_write_tokens', kind: 'number', of: (row) => row.usage.cacheWrite },
  { name: 'completion_tokens', kind: 'number', of: (row) => row.usage.completion },
  { name: 'reasoning_tokens', kind: 'number', of: (row) => row.usage.reasoning },
]

export const spendEndpoints: readonly Endpoint[] = [
  get('spend', 'both', spendQuery, (query, { viewer }, services) => readSpend(query, viewer, services)),

  get('spend.csv', 'both', spendQuery, async (query, { viewer }, services) => {
    const { rows } = await readSpend(query, viewer, services)
    async function* lines(): AsyncGenerator<string> {
      yield csvHeader(columns(query.by))
      for (const row of rows) yield csvLine(columns(query.by), row)
    }
    return { csv: { fileName: `spend-by-${query.by}.csv`, lines: lines() } }
  }),

  get(
    'statement',
    'both',
    z.strictObject({ account: name.optional() }),
    async (query, { viewer }, { admin }) => {
      const account = needed(accountOf(viewer, query.account))
      const found = await admin.statement(account)
      if (found === undefined) throw noAccount(account)
      const { granted, corrected, earned, spent, posted, held } = found
      const sum = granted + corrected + earned - spent
      const reply: StatementReply = {
        account,
        granted: formatCredits(granted),
        corrected: formatCredits(corrected),
        earned: formatCredits(earned),
        spent: formatCredits(spent),
        sum: formatCredits(sum),
        posted: formatCredits(posted),
        held: formatCredits(held),
        available: formatCredits(posted - held),
        isEqual: sum === posted,
      }
      return reply
    },
  ),
]

async function readSpend(query: Query, viewer: ConsoleViewer, { admin }: Services): Promise<SpendReply> {
  const { account: asked, ...rest } = query
  const account = accountOf(viewer, asked)
  const scoped = { ...rest, ...(account === undefined ? {} : { account }) } as AdminSpendQuery
  const { rows, total, books } = await admin.spendReport(scoped)
  const names = await namesOf(query.by, account, admin)
  return {
    rows: rows.map((row) => {
      const called = row.key === undefined ? undefined : names.get(row.key)
      return {
        ...(row.key === undefined ? {} : { key: row.key }),
        ...(called === undefined ? {} : { name: called }),
        ...spendSums(row),
      }
    }),
    total: spendSums(total),
    books: {
      debited: formatCredits(books.debited),
      kept: formatCredits(books.kept),
      paid: formatCredits(books.debited + books.kept),
      isEqual: books.isEqual,
    },
  }
}

async function namesOf(
  by: Query['by'],
  account: string | undefined,
  admin: Services['admin'],
): Promise<ReadonlyMap<string, string | undefined>> {
  if (by === 'app') return new Map((await admin.listApps()).map((app) => [app.id, app.name]))
  if (by !== 'key') return new Map()
  const credentials = await admin.listCredentials(account === undefined ? {} : { account })
  return new Map(credentials.map((credential) => [credential.credentialId, credential.label]))
}
