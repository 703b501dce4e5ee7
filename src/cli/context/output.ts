import Table from 'cli-table3'
import { formatCredits } from '../../base/money.js'

/** Values by column. Amounts are `bigint`; times are formatted already. */
export type TableRow = Readonly<Record<string, string | number | bigint | boolean | undefined>>

/** Formats rows with the columns of the first one, or returns `none` if there are no rows. */
export function formatTable(rows: readonly TableRow[], none = 'none'): string {
  const [first] = rows
  if (first === undefined) return `${none}\n`
  const columns = Object.keys(first)
  const table = new Table({
    head: columns,
    style: { head: [], border: [], compact: true },
    colAligns: columns.map((column) => (isNumeric(first[column]) ? 'right' : 'left')),
  })
  for (const row of rows) table.push(columns.map((column) => formatCell(row[column])))
  return `${table.toString()}\n`
}

export function formatTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

function formatCell(cell: TableRow[string]): string {
  if (cell === undefined) return ''
  return typeof cell === 'bigint' ? formatCredits(cell) : printable(String(cell))
}

/** Replaces control characters: text from a client must not control the operator's terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}')
}

function isNumeric(cell: TableRow[string]): boolean {
  return typeof cell === 'bigint' || typeof cell === 'number'
}
