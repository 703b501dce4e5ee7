/** An array as PostgreSQL reads it. Written here because a batch holds thousands of cells. */
export function toArray(cells: readonly (string | bigint | number | null)[]): string {
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
