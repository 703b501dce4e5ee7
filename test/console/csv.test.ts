import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Column, csvHeader, csvLine } from '../../src/console/serving/csv.js'
import { alice, type Bench, furnish, operator, startBench } from './console-bench.js'

const text: readonly Column<string>[] = [{ name: 'text', of: (row) => row }]
const amount: readonly Column<string>[] = [{ name: 'amount', kind: 'number', of: (row) => row }]

/** Reads RFC 4180. */
function parseCsv(file: string): string[][] {
  const records: string[][] = []
  let cells: string[] = []
  let at = 0
  while (at < file.length) {
    let cell = ''
    if (file[at] === '"') {
      at++
      for (;;) {
        const close = file.indexOf('"', at)
        cell += file.slice(at, close)
        at = close + 1
        if (file[at] !== '"') break
        cell += '"'
        at++
      }
    } else {
      const rest = /[,\r\n]/.exec(file.slice(at))
      cell = file.slice(at, at + (rest?.index ?? file.length))
      at += cell.length
    }
    cells.push(cell)
    if (file[at] === ',') at++
    else {
      expect(file.slice(at, at + 2)).toBe('\r\n')
      at += 2
      records.push(cells)
      cells = []
    }
  }
  return records
}

/** Returns any character, but often a separator, a quote or the sign of a formula. */
const textUnit = fc.oneof(
  fc.constantFrom(...'=+-@＝＋－＠;,\t\r\n "\''),
  fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 }),
)

describe('a CSV cell', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['＝1+1', "'＝1+1"],
    ['＋1', "'＋1"],
    ['－1', "'－1"],
    ['a; ＠SUM(A1)', '"a; \'＠SUM(A1)"'],
    ['\t=1', '"\t\'=1"'],
    [' =1', " '=1"],
    ['\r=1', '"\r\'=1"'],
    ["a;=cmd|'/C calc'!A0;", "\"a;'=cmd|'/C calc'!A0;\""],
    ['a\t@SUM(A1)', '"a\t\'@SUM(A1)"'],
    ['a; \t"-1', '"a; \t""\'-1"'],
    ['two\n=1', '"two\n\'=1"'],
    ['a;b=1', '"a;b=1"'],
    ['=HYPERLINK("http://evil.example","x")', '"\'=HYPERLINK(""http://evil.example"",""x"")"'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['a=1', 'a=1'],
    ['', ''],
  ])('%j becomes %j', (value, cell) => {
    expect(csvLine(text, value)).toBe(`${cell}\r\n`)
  })

  it('with an amount stays a number', () => {
    expect(csvLine(amount, '-0.0012')).toBe('-0.0012\r\n')
  })

  const rowsOfText = fc.array(fc.string({ unit: textUnit }), { minLength: 2, maxLength: 5 })
  const fileOf = (cells: readonly string[]) => {
    const columns = cells.map((_, at) => ({ name: `c${at}`, of: (row: readonly string[]) => row[at] }))
    return csvHeader(columns) + csvLine(columns, cells)
  }

  it('is read back unchanged, except for the quote before a possible formula', () => {
    const withoutQuotes = (text: string) => text.replaceAll(/'(?=[=+\-@＝＋－＠])/g, '')
    fc.assert(
      fc.property(rowsOfText, (cells) => {
        const [names, row] = parseCsv(fileOf(cells))
        expect(names).toEqual(cells.map((_, at) => `c${at}`))
        for (const [at, cell] of cells.entries()) {
          expect(withoutQuotes(row![at]!)).toBe(withoutQuotes(cell))
          if (!/[=+\-@＝＋－＠]/.test(cell)) expect(row![at]).toBe(cell)
          expect(row![at]).not.toMatch(/^\s*[=+\-@＝＋－＠]/)
        }
      }),
      { seed: 4180 },
    )
  })

  it.each([[';'], ['\t']])('holds no formula even for a program that splits lines at %j', (separator) => {
    fc.assert(
      fc.property(rowsOfText, (cells) => {
        const [, ...lines] = fileOf(cells).split(/[\r\n]+/)
        for (const piece of lines.flatMap((line) => line.split(separator))) {
          expect(piece).not.toMatch(/^[\s"]*[=+\-@＝＋－＠]/)
        }
      }),
      { seed: 4180 },
    )
  })
})

describe('a CSV download', () => {
  let bench: Bench

  beforeAll(async () => {
    bench = await startBench()
    const tokens = await furnish(bench)
    await bench.call(tokens.alice, { user: '=cmd|calc', session_id: '@sum,"1";=cmd|\'/C calc\'!A0;' })
    await bench.admin.accounts.credit({ account: 'alice', amount: '1', memo: '=1+1' })
    await bench.admin.accounts.correct({ account: 'alice', amount: '-0.5', memo: 'Zu viel, "sorry"' })
  })

  afterAll(() => bench.close())

  it('of calls has every column in every row, and no formula', async () => {
    const { status, headers, text: file } = await bench.as(alice).get('api/entries.csv')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    expect(headers.get('content-disposition')).toBe('attachment; filename="entries.csv"')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    const [names, ...records] = parseCsv(file)
    const rows = records.map((cells) => {
      expect(cells).toHaveLength(names!.length)
      return Object.fromEntries(cells.map((cell, at) => [names![at], cell]))
    })
    expect(rows.map(({ kind, amount: value, memo }) => [kind, value, memo])).toEqual([
      ['correction', '-0.5', 'Zu viel, "sorry"'],
      ['credit', '1', "'=1+1"],
      ['charge', expect.stringMatching(/^-0\.\d+$/), ''],
      ['credit', '100', ''],
    ])
    expect(rows[2]).toMatchObject({
      user: "'=cmd|calc",
      session: "'@sum,\"1\";'=cmd|'/C calc'!A0;",
      account: 'alice',
      model: 'acme/fast',
    })
    expect(rows[2]!.cost).toBe(rows[2]!.amount!.slice(1))
  })

  it('of spend has the rows of the page', async () => {
    const { text: file } = await bench.as(operator).get('api/reports/spend.csv?by=app')
    const [names, ...records] = parseCsv(file)
    expect(names!.slice(0, 4)).toEqual(['app', 'name', 'calls', 'cost'])
    expect(records).toHaveLength(1)
  })

  it('of spend over time has a row for each step, or for each step and group', async () => {
    const { text: steps } = await bench.as(operator).get('api/reports/spend-over-time.csv?range=week')
    const [names, ...days] = parseCsv(steps)
    expect(names!.slice(0, 4)).toEqual(['from', 'to', 'calls', 'cost'])
    expect(days).toHaveLength(7)
    expect(days[0]![0]! > days[1]![0]!).toBe(true)
    const { text: parts } = await bench.as(operator).get('api/reports/spend-over-time.csv?by=model')
    const [heads, ...rows] = parseCsv(parts)
    expect(heads).toEqual(['from', 'to', 'model', 'name', 'is_rest', 'calls', 'cost', 'tokens'])
    expect(rows).toEqual([
      [expect.any(String), expect.any(String), 'acme/fast', '', 'false', '1', days[0]![3], '110'],
    ])
  })

  it('continues page after page, and stops reading if its client leaves', async () => {
    const { admin } = bench
    let pages = 0
    const many = await startBench({
      console: {
        admin: {
          ...admin,
          entries: {
            ...admin.entries,
            list: async () => {
              pages++
              const { entries } = await admin.entries.list({ account: 'alice' })
              return { entries: Array.from({ length: 1_000 }, () => entries[0]!), next: '1.1' }
            },
          },
        },
      },
    })
    try {
      const leaving = new AbortController()
      const response = await fetch(`${many.baseUrl}/api/entries.csv`, {
        headers: { 'x-viewer': '{"kind":"operator"}' },
        signal: leaving.signal,
      })
      const reader = response.body!.getReader()
      let bytes = 0
      while (bytes < 1_000_000) bytes += (await reader.read()).value!.length
      const sofar = pages
      leaving.abort()
      let before = -1
      await expect
        .poll(() => {
          const same = pages === before
          before = pages
          return same
        })
        .toBe(true)
      expect(sofar).toBeGreaterThan(5)
      const events = await many.as(operator).get('api/events')
      expect(events.json).toMatchObject({ events: [] })
    } finally {
      await many.close()
    }
  })

  it('that fails midway is cut off, so that it does not look complete', async () => {
    const { admin } = bench
    let pages = 0
    const failing = await startBench({
      console: {
        admin: {
          ...admin,
          entries: {
            ...admin.entries,
            list: async (query) => {
              if (++pages > 1) throw new Error('the database is gone')
              return { ...(await admin.entries.list(query)), next: '1.1' }
            },
          },
        },
      },
    })
    try {
      await expect(failing.as(operator).get('api/entries.csv')).rejects.toThrow()
      pages = 1
      expect((await failing.as(operator).get('api/entries.csv')).status).toBe(500)
    } finally {
      await failing.close()
    }
  })
})
