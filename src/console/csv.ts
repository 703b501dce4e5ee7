/** A column of a file, and whether it holds our own numbers: a minus sign there is no formula. */
export interface Column<Row> {
  readonly name: string
  readonly kind?: 'number'
  readonly of: (row: Row) => string | number | undefined
}

const QUOTED_PATTERN = /[",\r\n]/
/** What spreadsheets take for the start of a formula, white space before it or not. */
const FORMULA_PATTERN = /^\s*[=+\-@]|^[\t\r\n]/

/** One record of RFC 4180. */
export function csvLine<Row>(columns: readonly Column<Row>[], row: Row): string {
  return `${columns.map(({ kind, of }) => cell(of(row), kind === 'number')).join(',')}\r\n`
}

export function csvHeader<Row>(columns: readonly Column<Row>[]): string {
  return `${columns.map(({ name }) => name).join(',')}\r\n`
}

function cell(value: string | number | undefined, isNumber: boolean): string {
  if (value === undefined) return ''
  const text = String(value)
  // Read as text by every spreadsheet, and the quote does not show in most.
  const safe = !isNumber && FORMULA_PATTERN.test(text) ? `'${text}` : text
  return QUOTED_PATTERN.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
