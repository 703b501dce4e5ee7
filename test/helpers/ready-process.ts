import pg from 'pg'
import { postgresStores } from '../../src/postgres/index.js'
import { sqliteStores } from '../../src/sqlite/index.js'

// A process that opens durable stores when its parent says so: `ready-process.ts sqlite FILE`, or `postgres URL`.
const [engine, place] = process.argv.slice(2)

process.once('message', async () => {
  const pool = engine === 'postgres' ? new pg.Pool({ connectionString: place, max: 2 }) : undefined
  const stores = pool === undefined ? sqliteStores({ file: place! }) : postgresStores(pool)
  await stores.ready()
  await stores.close()
  await pool?.end()
  process.disconnect()
})
process.send!('loaded')
