import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { createSqlConnect } from '../../src/sql/connect.js'
import { createSqlCredentials } from '../../src/sql/credentials.js'
import type { SqlDatabase, Statement } from '../../src/sql/database.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { connectOnce, NOTES } from '../helpers/connect-once.js'
import { context } from '../helpers/ledger-requests.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'

describe('Connect in SQLite', () => {
  let place: TestFile
  let stores: DurableStores
  beforeAll(async () => {
    place = await createTestFile()
    stores = sqliteStores({ file: place.file })
  })
  afterAll(async () => {
    await stores.close()
    place.remove()
  })

  it('finds every row by an index, however many apps, grants and tokens there are', async () => {
    const texts = new Set<string>()
    const record = (statements: readonly Statement[]) => {
      for (const { text } of statements) texts.add(text)
    }
    const database: SqlDatabase = {
      ...stores.database,
      all: (statement) => {
        record([statement])
        return stores.database.all(statement)
      },
      batch: (statements) => {
        record(statements)
        return stores.database.batch(statements)
      },
    }
    const connect = createSqlConnect(database)
    const admin = createAdmin({ ...stores, database })
    await admin.putApp(NOTES)
    const token = await connectOnce(connect, 'alice')
    await createSqlCredentials(database, false).resolve(token, context)
    await connect.findApp('notes')
    await connect.findLogo('notes', 'hash')
    await connect.findConnection('alice')
    await connect.findToken(token)
    await connect.findOauth('RefreshToken', 'alice')
    await connect.destroyOauth('RefreshToken', 'alice')
    await connect.spentInPeriod('alice', 'notes', { per: 'month' })
    await connect.revokeToken(token)
    await connect.sweep(10)
    const [grant] = await admin.listGrants({ account: 'alice' })
    await admin.listGrants({ appId: 'notes' })
    await admin.setGrantCap(grant!.id, { amount: '1', per: 'day' })
    await admin.setGrantCap(grant!.id, null)
    await admin.listGrantHistory(grant!.id)
    await admin.removeDevice(grant!.id, 'alice')
    await admin.revokeGrant(grant!.id)
    await connect.revokeGrant('alice', 'notes', { kind: 'account', name: 'alice' })
    await admin.appFigures({ appId: 'notes' })
    await admin.listAppEdits({ appId: 'notes' })
    await admin.putOwnApp('olga', { ...NOTES, id: 'own', name: 'Own' })
    await admin.putOwnApp('olga', { ...NOTES, id: 'own', name: 'Own 2' })
    await admin.listApps({ owner: 'olga' })
    await admin.removeOwnApp('olga', 'own')
    expect(texts.size).toBeGreaterThan(50)

    const scans: string[] = []
    for (const text of texts) {
      for (const { detail } of await stores.database.all({ text: `explain query plan ${text}` })) {
        const isScan = /^SCAN /.test(String(detail)) && !/CONSTANT ROW|VIRTUAL TABLE/.test(String(detail))
        // The parts of a statement in parentheses that were named have been searched for before.
        if (isScan && !/^SCAN (\(|changed|granted|grants|sized|added|a$|b$)/.test(String(detail))) {
          scans.push(`${String(detail)} in ${text}`)
        }
      }
    }
    expect(scans).toEqual([])
  })
})
