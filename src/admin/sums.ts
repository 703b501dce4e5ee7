import type { Credits } from '../base/money.js'
import { readBigint } from '../sql/cells.js'
import type { Row } from '../sql/database.js'

/** What amounts are cut at. Of any amount, both parts are far enough from 64 bits to add up those of a billion rows. */
const PART = 1_000_000_000

/**
 * SQL for a sum of amounts as two columns, `name_high` and `name_low`, for {@link readSum}: SQLite adds up in 64 bits,
 * which a sum may outgrow though every balance fits. Sums of amounts that are zero or more are in the order of these.
 */
export function sumOf(amount: string, name: string): string {
  const [high, low] = sumColumns(name)
  const rest = wholeSum(`(${amount}) % ${PART}`)
  return `${wholeSum(`(${amount}) / ${PART}`)} + ${rest} / ${PART} as ${high}, ${rest} % ${PART} as ${low}`
}

/** SQL for an amount as the columns of a sum. */
export function partsOf(amount: string, name: string): string {
  const [high, low] = sumColumns(name)
  return `(${amount}) / ${PART} as ${high}, (${amount}) % ${PART} as ${low}`
}

/** SQL for an amount less another, as the columns of a sum. */
export function differenceOf(amount: string, less: string, name: string): string {
  const [high, low] = sumColumns(name)
  const part = (operator: '/' | '%') => `(${amount}) ${operator} ${PART} - (${less}) ${operator} ${PART}`
  return `${part('/')} as ${high}, ${part('%')} as ${low}`
}

/** SQL that is true if two sums differ. */
export function isOther(name: string, than: string): string {
  const [high, low] = sumColumns(name)
  const [thanHigh, thanLow] = sumColumns(than)
  const rest = `(${low} - ${thanLow})`
  return `(${rest} % ${PART} <> 0 or ${high} - ${thanHigh} + ${rest} / ${PART} <> 0)`
}

/** SQL that adds up sums themselves, under the same name. */
export function totalOf(name: string): string {
  return sumColumns(name)
    .map((column) => `${wholeSum(column)} as ${column}`)
    .join(', ')
}

export function sumColumns(name: string): readonly [high: string, low: string] {
  return [`${name}_high`, `${name}_low`]
}

export function readSum(row: Row, name: string): Credits {
  const [high, low] = sumColumns(name)
  return readBigint(row, high) * BigInt(PART) + readBigint(row, low)
}

/** PostgreSQL's sums of integers are no integers, and would be divided into fractions. */
function wholeSum(part: string): string {
  return `cast(coalesce(sum(${part}), 0) as bigint)`
}
