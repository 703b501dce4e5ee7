import type { Parameter } from '../sql/database.js'

/** Formats an array for PostgreSQL. Optimized, because a batch contains thousands of cells. */
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
 * Joins cells of JSON as lines of one text. They are most of a batch's bytes and full of quotes, which an array would
 * escape. Lines need no escaping, because `JSON.stringify` escapes line breaks.
 */
export function toLines(cells: readonly Parameter[]): string {
  return cells.join('\n')
}

/** SQL that splits {@link toLines} into an array. */
export function fromLines(text: string): string {
  return `string_to_array(${text}, E'\\n')`
}
