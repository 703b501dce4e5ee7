import { describe, it } from 'vitest'
import { ledgerCases } from '../../src/testing/index.js'
import { useEngine } from '../helpers/engines.js'
import { openAccounts } from '../helpers/open-accounts.js'

describe('the PostgreSQL ledger', () => {
  const engine = useEngine('PostgreSQL')

  for (const { id, name, run } of ledgerCases) {
    it(`${id}: ${name}`, () =>
      run({
        async open(accounts) {
          const stores = await engine.openEmpty()
          await openAccounts(stores.database, accounts)
          return { store: stores.ledger, close: stores.close }
        },
      }))
  }
})
