import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { invalidInput } from '../base/invalid-input.js'
import { parseInput } from '../rules/schemas.js'
import type { Row } from '../sql/database.js'

/** Guards a put against concurrent changes. */
export interface PutOptions<Row> {
  /**
   * The value to replace, as the lists return it, or `null` for a new row. If the stored value differs, nothing
   * changes.
   */
  readonly was?: Row | null
  /** If `true`, only writes a new row and keeps a stored one. For a program that sets up its models at each start. */
  readonly ifAbsent?: boolean
}

const putSchema = z.strictObject({ was: z.unknown().optional(), ifAbsent: z.boolean().optional() })

/** Checks options. A misspelt one would replace a value that it should keep. */
export function checkPutOptions<Row>(options: PutOptions<Row>, name: string): PutOptions<Row> {
  const { ifAbsent, was } = parseInput(putSchema, options, name)
  if (ifAbsent === true && was !== undefined) throw invalidInput({ of: name }, 'give either was or ifAbsent')
  return options
}

/**
 * Returns the fields other than the id in which two values differ, with what each had, for the audit log. Undefined if
 * there are none.
 */
export function differences(before: object | undefined, after: object): object | undefined {
  const [old, now] = [{ ...before } as Record<string, unknown>, after as Record<string, unknown>]
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (name) => name !== 'id' && !isDeepStrictEqual(old[name], now[name]),
  )
  if (before !== undefined && names.length === 0) return undefined
  const of = (value: Record<string, unknown>): object =>
    Object.fromEntries(names.filter((name) => name in value).map((name) => [name, value[name]]))
  return before === undefined ? { after: of(now) } : { before: of(old), after: of(now) }
}

/** How {@link compareAndPut} reads and writes a row. */
export interface PutSteps<Shown> {
  find(): Promise<Row | undefined>
  /** Returns the row as the lists return it. */
  show(row: Row): Shown
  /** Writes only if the stored row is still this one, or is still absent. Returns whether it did. */
  write(before: Row | undefined): Promise<boolean>
}

/** Stores a row as the options say, whatever others store meanwhile. Returns whether it was stored. */
export async function compareAndPut<Shown>(
  { ifAbsent, was }: PutOptions<Shown>,
  { find, show, write }: PutSteps<Shown>,
): Promise<boolean> {
  for (;;) {
    const row = await find()
    if (ifAbsent === true && row !== undefined) return false
    if (was !== undefined && !isDeepStrictEqual(row === undefined ? null : show(row), was)) return false
    if (await write(row)) return true
  }
}
