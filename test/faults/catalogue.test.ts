import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { FAULTS } from './catalogue.js'
import { apisOf } from './fault.js'
import { ROWS, type Row } from './rows.js'
import { type Column, type Score, scoreTable } from './score-table.js'

const rows = Object.keys(ROWS) as Row[]
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The lines of the tables in a section. */
function tableLines(markdown: string, heading: string): string[] {
  const section = markdown.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  return section.split('\n').filter((line) => line.startsWith('|'))
}

describe('the catalogue of faults', () => {
  it('has every row of the published truth table, in its order', () => {
    const published = tableLines(read('docs/charging.md'), 'The truth table')
      .map((line) => line.split('|')[1]!.trim())
      .filter((cell) => cell !== '' && cell !== 'how the call ends' && !cell.startsWith('---'))
    expect(published).toHaveLength(rows.length)
    for (const [index, row] of rows.entries()) {
      const [words] = ROWS[row].split(', with the stream')
      expect(published[index]).toContain(words)
    }
  })

  it.each(rows)('has faults for the row %s, both streamed and as JSON if both can end that way', (row) => {
    const kinds = new Set(FAULTS.filter((fault) => fault.row === row).map(({ stream }) => stream))
    // A JSON reply that breaks or is stopped is an HTTP error.
    const onlyStreams = row === 'broken' || row === 'stopped'
    expect(kinds).toEqual(new Set(onlyStreams ? [true] : [true, false]))
  })

  it('names each fault once', () => {
    const names = FAULTS.map(({ row, name, stream }) => `${row}, ${name}, ${stream}`)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('matches the table of docs/faults.md, and the README states its number of rows', () => {
    const scores = FAULTS.map((fault): Score => {
      const apis = apisOf(fault).map(({ name }): Column => name)
      const columns = apis.length === 0 ? (['embeddings'] as const) : apis
      return { fault, due: fault.due, charged: new Map(columns.map((column) => [column, fault.due])) }
    })
    // If this fails, copy the output of `npm run faults` into docs/faults.md.
    const lines = scoreTable(scores).split('\n')
    expect(tableLines(read('docs/faults.md'), 'Faults')).toEqual(lines)
    const [, count] = /(\d+) ways in which a call can break/.exec(read('README.md')) ?? []
    expect(Number(count)).toBe(lines.length - 2)
  })
})

describe('the scoreboard of faults', () => {
  it('shows the difference between charge and due to the last digit', () => {
    const [fault] = FAULTS
    const table = scoreTable([
      {
        fault: fault!,
        charged: new Map([
          ['chat', '0.002'],
          ['responses', '0.002000001'],
        ] as const),
        due: '0.002',
      },
      {
        fault: { ...fault!, stream: !fault!.stream },
        charged: new Map([['chat', '0']] as const),
        due: '0.002',
      },
    ])
    expect(table.split('\n').slice(2)).toEqual([
      expect.stringMatching(/\| 0\.002 \| 0\.002000001 \| +\| +\| 0\.002 \| 0\.000000001 \|$/),
      expect.stringMatching(/\| 0 \| +\| +\| +\| 0\.002 \| -0\.002 \|$/),
    ])
  })
})
