/** A column of a file, and whether it holds our own numbers: a minus sign there is no formula. */
export interface Column<Row> {
  readonly name: string
  readonly kind?: 'number'
  readonly of: (row: Row) => string | number | undefined
}

const QUOTED_PATTERN = /[",;\t\r\n]/
/**
 * Where spreadsheets see a formula begin: in a cell, or after what separates cells to those that split lines at `;` or
 * tabs, which see no quotes within a cell. White space and quotes before it do not count. The wide forms of the signs are
 * formulas to spreadsheets set to Chinese or Japanese.
 */
const FORMULA_PATTERN = /(?<=(?:^|[;\t\r\n])[\s"]*)[=+\-@＝＋－＠]/g

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
  const safe = isNumber ? text : text.replace(FORMULA_PATTERN, "'$&")
  return QUOTED_PATTERN.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
