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

  it('finds every row by an index, however many apps, connected apps and tokens there are', async () => {
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
    await admin.apps.put(NOTES)
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
    const [grant] = await admin.connectedApps.list({ account: 'alice' })
    await admin.connectedApps.list({ appId: 'notes' })
    await admin.connectedApps.setCap(grant!.id, { amount: '1', per: 'day' })
    await admin.connectedApps.setCap(grant!.id, null)
    await admin.connectedApps.listHistory(grant!.id)
    await admin.connectedApps.removeDevice(grant!.id, 'alice')
    await admin.connectedApps.revoke(grant!.id)
    await connect.disconnectApp('alice', 'notes', { kind: 'account', name: 'alice' })
    await admin.reports.appFigures({ appId: 'notes' })
    await admin.apps.listEdits({ appId: 'notes' })
    await admin.userApps.put('olga', { ...NOTES, id: 'own', name: 'Own' })
    await admin.userApps.put('olga', { ...NOTES, id: 'own', name: 'Own 2' })
    await admin.apps.list({ owner: 'olga' })
    await admin.userApps.remove('olga', 'own')
    expect(texts.size).toBeGreaterThan(50)

    const scans: string[] = []
    for (const text of texts) {
      for (const { detail } of await stores.database.all({ text: `explain query plan ${text}` })) {
        const isScan = /^SCAN /.test(String(detail)) && !/CONSTANT ROW|VIRTUAL TABLE/.test(String(detail))
        // The parts of a statement in parentheses that were named have been searched for before.
        if (
          isScan &&
          !/^SCAN (\(|changed|granted|grants|sized|added|summed$|a$|b$|c$|s$)/.test(String(detail))
        ) {
          scans.push(`${String(detail)} in ${text}`)
        }
      }
    }
    expect(scans).toEqual([])
  })
})
