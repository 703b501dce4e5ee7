import Table from 'cli-table3'
import type { AppRequest } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'

/** Values by column. Amounts are `bigint`; times are formatted already. */
export type TableRow = Readonly<Record<string, string | number | bigint | boolean | undefined>>

/**
 * Formats rows with the columns of the first one, without those that are empty, or returns `none` if there are no rows.
 *
 * @param width the columns of the terminal. The cells of rows that are wider stand below each other. Undefined if the
 * output is read by a program: then each row is one line
 */
export function formatTable(rows: readonly TableRow[], none = 'none', width?: number): string {
  const [first] = rows
  if (first === undefined) return `${none}\n`
  const columns = Object.keys(first).filter((column) => rows.some((row) => formatCell(row[column]) !== ''))
  const table = formatLines(rows, columns)
  return width === undefined || table.indexOf('\n') <= width ? table : formatBlocks(rows, columns)
}

function formatLines(rows: readonly TableRow[], columns: readonly string[]): string {
  const [first] = rows
  const table = new Table({
    head: [...columns],
    style: { head: [], border: [], compact: true },
    colAligns: columns.map((column) => (isNumeric(first?.[column]) ? 'right' : 'left')),
  })
  for (const row of rows) table.push(columns.map((column) => formatCell(row[column])))
  return `${table.toString()}\n`
}

function formatBlocks(rows: readonly TableRow[], columns: readonly string[]): string {
  const longest = Math.max(...columns.map(({ length }) => length))
  const blocks = rows.map((row) =>
    columns.map((column) => `${column.padEnd(longest)}  ${formatCell(row[column])}`.trimEnd()).join('\n'),
  )
  return `${blocks.join('\n\n')}\n`
}

export function formatTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

/** Returns the models of an app, or of the terms that its users agreed to. */
export function showModels(models: AppRequest['allowedModels']): string {
  return models === 'all' ? 'all, later ones too' : models.join(' ')
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
