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
