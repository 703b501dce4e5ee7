import type { Cell, Row } from './database.js'

/** The cell as text. Throws if it is empty or not text: then schema and code disagree. */
export function readText(row: Row, column: string): string {
  const cell = row[column]
  if (typeof cell !== 'string') throw unreadable(column, 'text')
  return cell
}

export function readOptionalText(row: Row, column: string): string | undefined {
  return isEmpty(row[column]) ? undefined : readText(row, column)
}

/** An integer of any size. */
export function readBigint(row: Row, column: string): bigint {
  const cell = row[column]
  if (typeof cell === 'bigint') return cell
  if (typeof cell === 'string' && INTEGER_PATTERN.test(cell)) return BigInt(cell)
  throw unreadable(column, 'an integer')
}

/** An integer that a double carries exactly: a time, a count. */
export function readNumber(row: Row, column: string): number {
  const value = Number(readBigint(row, column))
  if (!Number.isSafeInteger(value)) throw unreadable(column, 'an integer below 2^53')
  return value
}

export function readOptionalNumber(row: Row, column: string): number | undefined {
  return isEmpty(row[column]) ? undefined : readNumber(row, column)
}

/** JSON text as a value. What wrote it checked its shape. */
export function readJson<Value>(row: Row, column: string): Value {
  return JSON.parse(readText(row, column)) as Value
}

export function readOptionalJson<Value>(row: Row, column: string): Value | undefined {
  return isEmpty(row[column]) ? undefined : readJson<Value>(row, column)
}

/** A value as a cell, `undefined` as an empty one. */
export function toJsonCell(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** Milliseconds as an integer cell, rounded up. Throws a `TypeError` for what is no such number. */
export function toTimeCell(value: number, what: string): bigint {
  const time = Math.ceil(value)
  if (!Number.isSafeInteger(time)) throw new TypeError(`${what} must be milliseconds since the Unix epoch`)
  return BigInt(time)
}

const INTEGER_PATTERN = /^-?\d+$/

function isEmpty(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined
}

function unreadable(column: string, what: string): Error {
  return new Error(`The column ${column} does not hold ${what}: the database was written by something else`)
}
