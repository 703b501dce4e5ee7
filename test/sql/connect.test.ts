import { describe, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { connectCases } from '../../src/testing/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { openAccounts } from '../helpers/open-accounts.js'

describe.each(engineNames)("Connect's store in %s", (name) => {
  const engine = useEngine(name)

  for (const { id, name: sentence, run } of connectCases) {
    it(`${id}: ${sentence}`, () =>
      run({
        async open(apps) {
          const stores = await engine.openEmpty()
          const admin = createAdmin(stores)
          await openAccounts(stores.database, { alice: '10' })
          for (const app of apps) await admin.apps.put(app)
          return {
            store: stores.connect,
            credentials: stores.credentials,
            putApp: admin.apps.put,
            suspendApp: admin.apps.suspend,
            resumeApp: admin.apps.resume,
            suspendAccount: admin.accounts.suspend,
            close: stores.close,
          }
        },
      }))
  }
})
