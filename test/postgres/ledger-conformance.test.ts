import { afterAll, beforeAll, describe, it } from 'vitest'
import { postgresStores } from '../../src/postgres/index.js'
import { ledgerCases } from '../../src/testing/ledger/index.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.js'

describe('the PostgreSQL ledger', () => {
  let database: TestDatabase
  let schemas = 0
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  for (const { id, name, run } of ledgerCases) {
    it(`${id}: ${name}`, () =>
      run({
        async open(accounts) {
          const stores = postgresStores(database.pool, { schema: `case_${schemas++}` })
          await openAccounts(stores.database, accounts)
          return { store: stores.ledger, close: stores.close }
        },
      }))
  }
})
