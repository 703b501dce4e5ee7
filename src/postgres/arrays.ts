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

/**
 * Cells of JSON as lines of one text. They are most of a batch's bytes and full of quotes, all of which an array would
 * escape; `JSON.stringify` leaves no line end as it is, so that here nothing has to be.
 */
export function toLines(cells: readonly Parameter[]): string {
  return cells.join('\n')
}

/** SQL that makes an array of {@link toLines}. */
export function fromLines(text: string): string {
  return `string_to_array(${text}, E'\\n')`
}
