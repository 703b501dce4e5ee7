import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findAnything } from '../../src/admin/find.js'
import { readSpend } from '../../src/admin/spend.js'
import type { HoldLimit } from '../../src/contracts/index.js'
import type { Statement } from '../../src/sql/database.js'
import { readEntries } from '../../src/sql/entries.js'
import { toHoldCommand, toSettleCommand } from '../../src/sql/ledger-commands.js'
import { findCall, readCalls } from '../../src/sql/read-calls.js'
import { clearProcess } from '../../src/sqlite/clear-process.js'
import { type Connection, openConnection } from '../../src/sqlite/connection.js'
import { expireHolds } from '../../src/sqlite/hold-rows.js'
import { createLedgerTransaction } from '../../src/sqlite/ledger-transaction.js'
import { migrate } from '../../src/sqlite/migrations.js'
import { createHold, createHoldId, createSettle } from '../helpers/ledger-requests.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'

const limitOf = (bucket: string, limit: bigint): HoldLimit => ({
  ...{ bucket, unit: 'tokens', limit, amount: 1n, windows: [[0, 8_640_000_000_000_000]] },
})

describe('a query of SQLite', () => {
  let place: TestFile
  let connection: Connection
  const texts = new Set<string>()
  beforeAll(async () => {
    place = await createTestFile()
    connection = openConnection(place.file)
    migrate(connection, place.file)
  })
  afterAll(() => {
    connection.close()
    place.remove()
  })

  /** A connection that records its prepared statements. */
  const recording = (): Connection => ({
    ...connection,
    prepare: (text) => {
      texts.add(text)
      return connection.prepare(text)
    },
  })

  /** Returns the steps of each statement's plan that scan a table, other than one with a single row or the rows of a part. */
  const scansOf = (statements: readonly string[]) =>
    statements.flatMap((text) =>
      connection
        .prepare(`explain query plan ${text}`)
        .rows([])
        .map((row) => String(row.detail))
        .filter(
          (detail) =>
            /^SCAN /.test(detail) && !/^SCAN (\(|c$|w$|summed$)|CONSTANT ROW|VIRTUAL TABLE/.test(detail),
        )
        .map((detail) => `${detail} in ${text}`),
    )

  it('finds every row of the ledger by an index', () => {
    const own = recording()
    const ledger = createLedgerTransaction(own)
    ledger.apply([{ kind: 'release', holdId: 'h', account: 'a' }])
    // Enough commands that one statement reads and writes them all.
    const many = Array.from({ length: 20 }, (_, index) =>
      createHold(`account-${index}`, 0n, { limits: [limitOf(`bucket-${index}`, 10n)] }),
    )
    ledger.apply(many.map(toHoldCommand))
    ledger.apply([toHoldCommand(createHold('account-0', 0n, { limits: [limitOf('bucket-0', 0n)] }))])
    const used = { bucket: 'bucket-1', unit: 'tokens', from: 0, used: 2n } as const
    ledger.apply(
      many.map(({ holdId, account }) =>
        toSettleCommand(createSettle(holdId, account, 1n, { limits: [used] })),
      ),
    )
    ledger.apply(many.map(({ account }) => toSettleCommand(createSettle(createHoldId(), account, 1n))))
    expireHolds(own, 10)
    void clearProcess(async (statements) => own.batch(statements), 'p', undefined)
    const scans = scansOf([...texts].filter((text) => !/^(begin|commit)/.test(text)))
    expect(texts.size).toBeGreaterThan(20)
    expect([...texts].filter((text) => text.includes('json_each')).length).toBe(6)
    expect(scans).toEqual([])
  })

  it('finds a page of entries by an index, whichever filters it has', async () => {
    const asked: Statement[] = []
    const database = {
      engine: 'sqlite',
      all: async (statement: Statement) => {
        asked.push(statement)
        return []
      },
    } as never
    const after = '5.5'
    for (const query of [
      { account: 'a' },
      { account: 'a', from: 1, to: 2 },
      { appId: 'a' },
      { model: 'a' },
      { sessionId: 'a' },
      { from: 1, to: 2 },
    ]) {
      await readEntries(database, query)
      await readEntries(database, { ...query, after })
    }
    await readSpend(database, { by: 'day', account: 'a', from: 1, to: 2 })
    await readSpend(database, { by: 'model', from: 1, to: 2 })
    expect(asked.length).toBe(14)
    expect(scansOf(asked.map(({ text }) => text))).toEqual([])
  })

  it('finds everything that a search may find by an index', async () => {
    const asked: string[] = []
    const database = {
      engine: 'sqlite',
      all: async ({ text }: Statement) => {
        asked.push(text)
        return []
      },
    } as never
    await findAnything(database, 'a')
    await findAnything(database, 'a', { account: 'b' })
    expect(asked).toHaveLength(2)
    const details = asked.flatMap((text) =>
      connection
        .prepare(`explain query plan ${text}`)
        .rows([])
        .map((row) => String(row.detail)),
    )
    expect(details.filter((detail) => /^SEARCH [aceph] USING/.test(detail)).length).toBeGreaterThan(20)
    expect(details.filter((detail) => /^SCAN [aceph]\b/.test(detail))).toEqual([])
  })

  it('finds a page of kept calls by an index, whichever filters it has', async () => {
    const asked: Statement[] = []
    const database = {
      all: async (statement: Statement) => {
        asked.push(statement)
        return []
      },
    } as never
    for (const query of [
      { account: 'a' },
      { account: 'a', problems: true },
      { credentialId: 'k', problems: true },
      { appId: 'a' },
      { model: 'm' },
      { requestId: 'r' },
      { status: 404 },
      { outcome: 'provider_error' },
      { outcome: 'provider_error', account: 'a', from: 1, to: 2 },
      { problems: true, from: 1, to: 2 },
      { from: 1, to: 2 },
    ]) {
      await readCalls(database, query)
      await readCalls(database, { ...query, after: '5.5' })
    }
    await findCall(database, undefined, 'id')
    await findCall(database, 'a', 'id')
    expect(asked.length).toBe(26)
    expect(scansOf(asked.map(({ text }) => text))).toEqual([])
  })
})
