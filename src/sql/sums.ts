import type { Credits } from '../base/money.js'
import { readBigint } from './cells.js'
import type { Row, SqlDatabase } from './database.js'

/** Divides amounts into two parts, each small enough that a billion rows add up within 64 bits. */
const PART = 1_000_000_000

/**
 * SQL for a sum of amounts as two columns, `name_high` and `name_low`, for {@link readSum}. SQLite adds up in 64 bits,
 * which a sum may exceed even if every balance fits. Sums of amounts of 0 or more sort by these two columns.
 */
export function sumOf(amount: string, name: string): string {
  const [high, low] = sumColumns(name)
  const rest = wholeSum(`(${amount}) % ${PART}`)
  return `${wholeSum(`(${amount}) / ${PART}`)} + ${rest} / ${PART} as ${high}, ${rest} % ${PART} as ${low}`
}

/** SQL for the same as {@link sumOf}. In PostgreSQL, a sum is exact, and dividing it once is cheaper than each amount. */
export function sumOfAmounts(engine: SqlDatabase['engine'], amount: string, name: string): string {
  if (engine === 'sqlite') return sumOf(amount, name)
  const [high, low] = sumColumns(name)
  const sum = `coalesce(sum(${amount}), 0)`
  return `cast(div(${sum}, ${PART}) as bigint) as ${high}, cast(mod(${sum}, ${PART}) as bigint) as ${low}`
}

/** SQL for an amount as the columns of a sum. */
export function partsOf(amount: string, name: string): string {
  const [high, low] = sumColumns(name)
  return `(${amount}) / ${PART} as ${high}, (${amount}) % ${PART} as ${low}`
}

/** SQL for the balance of the account `a` as the columns of a sum; 0 if there is no such account. See `postedOf`. */
export function postedPartsOf({ engine }: SqlDatabase, name: string): string {
  const row = 'coalesce(a.posted, 0)'
  if (engine === 'sqlite') return partsOf(row, name)
  const [high, low] = sumColumns(name)
  const part = (operator: '/' | '%') =>
    `${row} ${operator} ${PART} + (select ${wholeSum(`e.amount ${operator} ${PART}`)} from {earned} e where e.account = a.id)`
  return `${part('/')} as ${high}, ${part('%')} as ${low}`
}

/** SQL for the difference of two amounts, as the columns of a sum. */
export function differenceOf(amount: string, less: string, name: string): string {
  const [high, low] = sumColumns(name)
  const part = (operator: '/' | '%') => `(${amount}) ${operator} ${PART} - (${less}) ${operator} ${PART}`
  return `${part('/')} as ${high}, ${part('%')} as ${low}`
}

/** SQL that is true if two sums differ. */
export function isOther(name: string, than: string): string {
  const [high, low] = sumColumns(name)
  const [thanHigh, thanLow] = sumColumns(than)
  return isNotZero(`(${high} - ${thanHigh})`, `(${low} - ${thanLow})`)
}

/** SQL that is true if a sum of these two parts is not 0. */
export function isNotZero(high: string, low: string): string {
  return `(${low} % ${PART} <> 0 or ${high} + ${low} / ${PART} <> 0)`
}

/** SQL that adds up such sums, under the same name. */
export function totalOf(name: string): string {
  return sumColumns(name)
    .map((column) => `${wholeSum(column)} as ${column}`)
    .join(', ')
}

/** SQL for {@link totalOf} whose second column is below that of one unit of the first, so that sums sort by both. */
export function orderedTotalOf(name: string): string {
  const [high, low] = sumColumns(name)
  return `${wholeSum(high)} + ${wholeSum(low)} / ${PART} as ${high}, ${wholeSum(low)} % ${PART} as ${low}`
}

export function sumColumns(name: string): readonly [high: string, low: string] {
  return [`${name}_high`, `${name}_low`]
}

export function readSum(row: Row, name: string): Credits {
  const [high, low] = sumColumns(name)
  return readBigint(row, high) * BigInt(PART) + readBigint(row, low)
}

/** SQL for a sum of integers. In PostgreSQL, a sum of bigints is a numeric, whose division would give fractions. */
export function wholeSum(part: string): string {
  return `cast(coalesce(sum(${part}), 0) as bigint)`
}
