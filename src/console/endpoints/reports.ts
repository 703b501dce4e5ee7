import { z } from 'zod'
import type { Admin, SpendReport, SpendRow } from '../../admin/index.js'
import { present } from '../../base/present.js'
import { MEDIA_UNITS } from '../../base/units.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Column, csvHeader, csvLine } from '../serving/csv.js'
import { type Context, get, requireAccount, timeTextSchema } from '../serving/endpoint.js'
import { accountOf, noAccount } from '../serving/viewer.js'

const spendQuery = z.strictObject({
  by: z.enum(['day', 'model', 'app', 'key', 'account', 'provider']),
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

const columns = (by: Query['by']): readonly Column<NamedRow>[] => [
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

export const reportEndpoints = [
  /** All days are on one page. Other rows come fifty per page, the most expensive first. The sums cover all pages. */
  get(
    'reports/spend',
    'both',
    'rows',
    spendQuery.extend({ after: position.default(0) }),
    async ({ after, ...query }, context) => {
      const page = { offset: after, limit: query.by === 'day' ? MAX_DAYS : ROWS_A_PAGE }
      const { rows, rowCount, total, books, behindMs } = await readReport({ ...query, ...page }, context)
      const end = after + page.limit
      return {
        rows: await named(rows, namerOf(query.by, context.admin)),
        rowCount,
        next: end < rowCount ? String(end) : undefined,
        total,
        /** The same calls, summed only from the ledger's postings. `paid` must be the total of `cost`. */
        books: { ...books, paid: books.debited + books.kept },
        /** How far the replica was behind that answered, if one did. */
        behindMs,
      }
    },
  ),

  get('reports/spend.csv', 'both', 'csv', spendQuery, async (query, context) => {
    const { rows } = await readReport(query, context)
    const namer = namerOf(query.by, context.admin)
    async function* lines(): AsyncGenerator<string> {
      yield csvHeader(columns(query.by))
      for (let start = 0; start < rows.length; start += ROWS_A_PAGE) {
        const page = await named(rows.slice(start, start + ROWS_A_PAGE), namer)
        for (const row of page) yield csvLine(columns(query.by), row)
      }
    }
    return { csv: { fileName: `spend-by-${query.by}.csv`, lines: lines() } }
  }),

  /** If `isEqual`, `sum` is the balance in the ledger, `posted`, to the last digit. */
  get(
    'reports/statement',
    'both',
    'sum',
    z.strictObject({ account: nameSchema.optional() }),
    async (query, { viewer, admin }) => {
      const account = requireAccount(accountOf(viewer, query.account))
      const found = await admin.accounts.statement(account)
      if (found === undefined) throw noAccount(account)
      const { credited, corrected, refunded, earned, spent, posted, held } = found
      const sum = credited + corrected + refunded + earned - spent
      return { account, ...found, sum, available: posted - held, isEqual: sum === posted }
    },
  ),
]

async function readReport(
  { account, ...rest }: Query & { readonly offset?: number; readonly limit?: number },
  { viewer, admin }: Context,
): Promise<SpendReport> {
  return admin.reports.spendReport(present({ ...rest, account: accountOf(viewer, account) }))
}

export interface NamedRow extends SpendRow {
  /** The display name of the key: an app's name or a credential's label. */
  readonly name: string | undefined
}

export async function named(rows: readonly SpendRow[], namer: Namer): Promise<readonly NamedRow[]> {
  const names = await namer(rows)
  return rows.map((row) => ({ ...row, name: row.key === undefined ? undefined : names.get(row.key) }))
}

/** Returns the display names of the rows' keys. */
type Namer = (rows: readonly SpendRow[]) => Promise<ReadonlyMap<string, string | undefined>>

/** Names one page of rows at a time, since there may be millions. */
export function namerOf(by: Query['by'], admin: Admin): Namer {
  return (rows) =>
    namesOf(
      by,
      rows.map(({ key }) => key),
      admin,
    )
}

/** Returns the display names of keys: names of apps, or labels of credentials. */
export async function namesOf(
  by: string,
  keys: readonly (string | undefined)[],
  admin: Admin,
): Promise<ReadonlyMap<string, string | undefined>> {
  const ids = keys.flatMap((key) => key ?? [])
  if (by === 'key') {
    const credentials = await admin.keys.list({ credentialIds: ids })
    return new Map(credentials.map(({ credentialId, label }) => [credentialId, label]))
  }
  if (by !== 'app') return new Map()
  const apps = await admin.apps.list({ appIds: ids })
  return new Map(apps.map(({ id, name }) => [id, name]))
}
