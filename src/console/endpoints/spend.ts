import { z } from 'zod'
import type { SpendRow as AdminSpendRow, SpendReport } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import { MEDIA_UNITS } from '../../base/units.js'
import { nameSchema } from '../../rules/schemas.js'
import type { SpendReply, SpendRow, StatementReply } from '../protocol/index.js'
import { type Column, csvHeader, csvLine } from '../serving/csv.js'
import { type Endpoint, get, requireAccount, type Services, timeTextSchema } from '../serving/endpoint.js'
import { accountOf, type ConsoleViewer, noAccount } from '../serving/viewer.js'
import { present, spendSums } from '../serving/views.js'

const spendQuery = z.strictObject({
  by: z.enum(['day', 'model', 'app', 'key', 'provider']),
  account: nameSchema.optional(),
  appId: nameSchema.optional(),
  model: nameSchema.optional(),
  from: timeTextSchema.optional(),
  to: timeTextSchema.optional(),
})
/** The number of rows on the pages before. */
const position = z
  .string()
  .regex(/^\d{1,9}$/, 'must be the next of an earlier page')
  .transform(Number)

type Query = z.infer<typeof spendQuery>

const ROWS_A_PAGE = 50
/** A century. */
const MAX_DAYS = 36_525

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
  ...MEDIA_UNITS.map(({ name, column }) => ({
    name: `${column}_tokens`,
    kind: 'number' as const,
    of: (row: SpendRow) => row.usage[name],
  })),
]

export const spendEndpoints: readonly Endpoint[] = [
  get(
    'spend',
    'both',
    spendQuery.extend({ after: position.default(0) }),
    async ({ after, ...query }, { viewer }, { admin }): Promise<SpendReply> => {
      const page = { offset: after, limit: query.by === 'day' ? MAX_DAYS : ROWS_A_PAGE }
      const { rows, rowCount, total, books } = await readReport({ ...query, ...page }, viewer, admin)
      const end = after + page.limit
      return {
        rows: await viewsOf(rows, namerOf(query.by, admin)),
        rowCount,
        ...(end < rowCount ? { next: String(end) } : {}),
        total: spendSums(total),
        books: {
          debited: formatCredits(books.debited),
          kept: formatCredits(books.kept),
          paid: formatCredits(books.debited + books.kept),
          isEqual: books.isEqual,
        },
      }
    },
  ),

  get('spend.csv', 'both', spendQuery, async (query, { viewer }, { admin }) => {
    const { rows } = await readReport(query, viewer, admin)
    const namer = namerOf(query.by, admin)
    async function* lines(): AsyncGenerator<string> {
      yield csvHeader(columns(query.by))
      for (let start = 0; start < rows.length; start += ROWS_A_PAGE) {
        const page = await viewsOf(rows.slice(start, start + ROWS_A_PAGE), namer)
        for (const row of page) yield csvLine(columns(query.by), row)
      }
    }
    return { csv: { fileName: `spend-by-${query.by}.csv`, lines: lines() } }
  }),

  get(
    'statement',
    'both',
    z.strictObject({ account: nameSchema.optional() }),
    async (query, { viewer }, { admin }) => {
      const account = requireAccount(accountOf(viewer, query.account))
      const found = await admin.statement(account)
      if (found === undefined) throw noAccount(account)
      const { granted, corrected, refunded, earned, spent, posted, held } = found
      const sum = granted + corrected + refunded + earned - spent
      const reply: StatementReply = {
        account,
        granted: formatCredits(granted),
        corrected: formatCredits(corrected),
        refunded: formatCredits(refunded),
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

async function readReport(
  { account: asked, ...rest }: Query & { readonly offset?: number; readonly limit?: number },
  viewer: ConsoleViewer,
  admin: Services['admin'],
): Promise<SpendReport> {
  return admin.spendReport(present({ ...rest, account: accountOf(viewer, asked) }))
}

async function viewsOf(rows: readonly AdminSpendRow[], namer: Namer): Promise<readonly SpendRow[]> {
  const names = await namer(rows)
  return rows.map((row) => {
    const called = row.key === undefined ? undefined : names.get(row.key)
    return {
      ...(row.key === undefined ? {} : { key: row.key }),
      ...(called === undefined ? {} : { name: called }),
      ...spendSums(row),
    }
  })
}

/** Returns the display names of the rows' keys. */
type Namer = (rows: readonly AdminSpendRow[]) => Promise<ReadonlyMap<string, string | undefined>>

/** Names one page of rows at a time, since there may be millions. */
function namerOf(by: Query['by'], admin: Services['admin']): Namer {
  const idsOf = (rows: readonly AdminSpendRow[]): readonly string[] => rows.flatMap(({ key }) => key ?? [])
  if (by === 'key') {
    return async (rows) => {
      const credentials = await admin.listCredentials({ credentialIds: idsOf(rows) })
      return new Map(credentials.map(({ credentialId, label }) => [credentialId, label]))
    }
  }
  if (by !== 'app') return async () => new Map()
  return async (rows) => {
    const apps = await admin.listApps({ appIds: idsOf(rows) })
    return new Map(apps.map(({ id, name }) => [id, name]))
  }
}
