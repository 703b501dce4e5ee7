import type { Parameter } from '../sql/database.js'

/** An array as PostgreSQL reads it. Written here because a batch holds thousands of cells. */
export function toArray(cells: readonly Parameter[]): string {
  let text = '{'
  for (let index = 0; index < cells.length; index++) {
    if (index > 0) text += ','
    const cell = cells[index]
    if (cell === null || cell === undefined) text += 'NULL'
    else if (typeof cell === 'string') text += quote(cell)
    else text += cell.toString()
  }
  return `${text}}`
}

const ESCAPED_PATTERN = /["\\]/g

function quote(text: string): string {
  return text.includes('"') || text.includes('\\')
    ? `"${text.replace(ESCAPED_PATTERN, '\\$&')}"`
    : `"${text}"`
}

/** Columns of JSON, whose cells go as lines of one text in place of an array: most of a batch's bytes, and full of quotes. */
export function isJsonColumn(column: string): boolean {
  return column === 'postings' || column === 'details'
}

/** Cells of JSON, one a line. `JSON.stringify` leaves no line end as it is. */
export function toLines(cells: readonly Parameter[]): string {
  return cells.join('\n')
}
