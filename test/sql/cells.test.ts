import { expect, it } from 'vitest'
import { readBigint, readNumber } from '../../src/sql/cells.js'

it('a database cell is read as a count only if a double represents it exactly, and as an amount of any size', () => {
  const largest = BigInt(Number.MAX_SAFE_INTEGER)
  for (const cell of [largest, -largest]) expect(readNumber({ cell }, 'cell')).toBe(Number(cell))
  for (const cell of [largest + 1n, -largest - 1n, String(largest + 2n)]) {
    expect(() => readNumber({ cell }, 'cell')).toThrow(
      'The column cell does not contain an integer below 2^53',
    )
    expect(readBigint({ cell }, 'cell')).toBe(BigInt(cell))
  }
})
