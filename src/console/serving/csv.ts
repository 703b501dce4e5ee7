import { type Credits, formatCredits } from '../../base/money.js'

/** A column of a file. `kind` marks our own numbers, in which a minus sign does not begin a formula. */
export interface Column<Row> {
  readonly name: string
  readonly kind?: 'number'
  readonly of: (row: Row) => string | number | Credits | undefined
}

const QUOTED_PATTERN = /[",;\t\r\n]/
/**
 * Matches each position at which spreadsheets see a formula: at the start of a cell, and after `;`, tabs and line ends,
 * since some split cells there and ignore quotes within a cell. Leading white space and quotes do not count. Spreadsheets
 * set to Chinese or Japanese also accept the wide forms of the signs.
 */
const FORMULA_PATTERN = /(?<=(?:^|[;\t\r\n])[\s"]*)[=+\-@＝＋－＠]/g

/** One record of RFC 4180. */
export function csvLine<Row>(columns: readonly Column<Row>[], row: Row): string {
  return `${columns.map(({ kind, of }) => cell(of(row), kind === 'number')).join(',')}\r\n`
}

export function csvHeader<Row>(columns: readonly Column<Row>[]): string {
  return `${columns.map(({ name }) => name).join(',')}\r\n`
}

/** The ends of a step of time. */
export const timeColumns: readonly Column<{ readonly from: number; readonly to: number }>[] = [
  { name: 'from', of: ({ from }) => new Date(from).toISOString() },
  { name: 'to', of: ({ to }) => new Date(to).toISOString() },
]

/** The header and these rows. */
export async function* csvLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): AsyncGenerator<string> {
  yield csvHeader(columns)
  for (const row of rows) yield csvLine(columns, row)
}

/** A list of rows, and the position of the next one unless it is the last. */
interface CsvPage<Row> {
  readonly rows: readonly Row[]
  readonly next: string | undefined
}

/** How a query asks for a page. `after` is the `next` of the page before. */
interface PageQuery {
  readonly limit: number
  readonly after?: string
}
type ReadPage<Row> = (page: PageQuery) => Promise<CsvPage<Row>>

const PAGE_ROWS = 1_000

/** Answers with a file that has the rows of all pages. */
export function csvReply<Row>(fileName: string, columns: readonly Column<Row>[], readPage: ReadPage<Row>) {
  return { csv: { fileName, lines: csvPages(columns, readPage) } }
}

/** The header and the rows, page by page. */
async function* csvPages<Row>(
  columns: readonly Column<Row>[],
  readPage: ReadPage<Row>,
): AsyncGenerator<string> {
  let after: string | undefined
  do {
    const { next, rows }: CsvPage<Row> = await readPage({
      limit: PAGE_ROWS,
      ...(after !== undefined && { after }),
    })
    const head = after === undefined ? csvHeader(columns) : ''
    yield head + rows.map((row) => csvLine(columns, row)).join('')
    after = next
  } while (after !== undefined)
}

function cell(value: string | number | Credits | undefined, isNumber: boolean): string {
  if (value === undefined) return ''
  const text = typeof value === 'bigint' ? formatCredits(value) : String(value)
  // Every spreadsheet reads this as text, and most do not show the quote.
  const safe = isNumber ? text : text.replace(FORMULA_PATTERN, "'$&")
  return QUOTED_PATTERN.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
