import { invalidInput } from '../base/invalid-input.js'
import type { Cell, Row } from './database.js'

/** Throws if the cell is empty or not text, since then schema and code disagree. */
export function readText(row: Row, column: string): string {
  const cell = row[column]
  if (typeof cell !== 'string') throw unreadable(column, 'text')
  return cell
}

export function readOptionalText(row: Row, column: string): string | undefined {
  return isEmpty(row[column]) ? undefined : readText(row, column)
}

/** Reads an integer of any size. */
export function readBigint(row: Row, column: string): bigint {
  const cell = row[column]
  if (typeof cell === 'bigint') return cell
  if (typeof cell === 'string' && INTEGER_PATTERN.test(cell)) return BigInt(cell)
  throw unreadable(column, 'an integer')
}

/** Reads an integer that a double represents exactly, such as a time or a count. */
export function readNumber(row: Row, column: string): number {
  const value = Number(readBigint(row, column))
  if (!Number.isSafeInteger(value)) throw unreadable(column, 'an integer below 2^53')
  return value
}

export function readOptionalNumber(row: Row, column: string): number | undefined {
  return isEmpty(row[column]) ? undefined : readNumber(row, column)
}

/** Parses JSON text. Its shape was checked when it was written. */
export function readJson<Value>(row: Row, column: string): Value {
  return JSON.parse(readText(row, column)) as Value
}

export function readOptionalJson<Value>(row: Row, column: string): Value | undefined {
  return isEmpty(row[column]) ? undefined : readJson<Value>(row, column)
}

/** `undefined` becomes an empty cell. */
export function toJsonCell(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** Returns milliseconds as an integer cell, rounded up. Throws a `TypeError` if the value is not a valid time. */
export function toTimeCell(value: number, field: string): bigint {
  return BigInt(checkTime(value, field))
}

/** Like {@link toTimeCell}, but returns a number. */
export function checkTime(value: number, field: string): number {
  const time = Math.ceil(value)
  if (!Number.isSafeInteger(time)) throw invalidInput({ field }, 'must be milliseconds since the Unix epoch')
  return time
}

const INTEGER_PATTERN = /^-?\d+$/

function isEmpty(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined
}

function unreadable(column: string, expected: string): Error {
  return new Error(`The column ${column} does not contain ${expected}: another program wrote to the database`)
}
