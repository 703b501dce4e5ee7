import { afterAll, beforeAll, describe, it } from 'vitest'
import { sqliteStores } from '../../src/sqlite/index.js'
import { ledgerCases } from '../../src/testing/ledger/index.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'

describe('the SQLite ledger', () => {
  let place: TestFile
  let files = 0
  beforeAll(async () => {
    place = await createTestFile()
  })
  afterAll(() => place.remove())

  for (const { id, name, run } of ledgerCases) {
    it(`${id}: ${name}`, () =>
      run({
        async open(accounts) {
          const stores = sqliteStores({ file: `${place.file}-${files++}` })
          await openAccounts(stores.database, accounts)
          return { store: stores.ledger, close: stores.close }
        },
      }))
  }
})
