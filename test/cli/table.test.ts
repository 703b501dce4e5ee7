import { describe, expect, it } from 'vitest'
import { formatTable } from '../../src/cli/context/output.js'

const ID = '01a2254796214860463838171289e65c'
const ROWS = [
  { key: ID, label: 'laptop', app: undefined, spent: 1_500_000_000n },
  { key: ID.toUpperCase(), label: undefined, app: undefined, spent: 0n },
]

describe('a table of the command line', () => {
  it('leaves out columns without a value', () => {
    const [, head] = formatTable(ROWS).split('\n')
    expect(head!.split('│').map((cell) => cell.trim())).toEqual(['', 'key', 'label', 'spent', ''])
  })

  it('has a line for each row if it fits the terminal, or is read by a program', () => {
    const lines = formatTable(ROWS).split('\n')
    const width = lines[0]!.length
    expect(lines.filter((line) => line.includes(ID))).toHaveLength(1)
    expect(formatTable(ROWS, 'none', width)).toBe(formatTable(ROWS))
  })

  it('has a line for each value if it is wider than the terminal', () => {
    expect(formatTable(ROWS, 'none', 52)).toBe(
      [
        `key    ${ID}`,
        'label  laptop',
        'spent  1.5',
        '',
        `key    ${ID.toUpperCase()}`,
        'label',
        'spent  0',
        '',
      ].join('\n'),
    )
  })

  it('says that there are no rows', () => {
    expect(formatTable([], 'no keys', 52)).toBe('no keys\n')
  })
})
