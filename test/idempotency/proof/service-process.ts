import pg from 'pg'
import { postgresStores } from '../../../src/postgres/index.js'
import { sqliteStores } from '../../../src/sqlite/index.js'
import { startService } from './service.js'

/** A separate process. Its parent sends the database and the provider to use, and tells it when to end. */
const [databaseUrl = '', providerUrl = ''] = process.argv.slice(2)
const pool = databaseUrl.startsWith('postgres:')
  ? new pg.Pool({ connectionString: databaseUrl, max: 10 })
  : undefined
const stores = pool === undefined ? sqliteStores({ file: databaseUrl }) : postgresStores(pool)
const service = await startService({ ledger: stores.ledger, store: stores.idempotency, providerUrl })

process.once('message', async () => {
  const faults = await service.close()
  await stores.close()
  await pool?.end()
  process.send?.({ faults }, () => process.disconnect())
})
process.send?.({ port: service.port })
