import { randomBytes } from 'node:crypto'
import { postgresStores } from '../../src/postgres/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { connectOnce } from './connect-once.js'
import { createPool } from './postgres.js'

// Runs as a process of its own that is meant to be killed. Connects the app `notes` for one new account after another, and
// writes the account to standard output once everything has been stored.

interface Load {
  readonly engine: 'SQLite' | 'PostgreSQL'
  /** A file, or the URL of a database. */
  readonly place: string
  readonly callers: number
}

const load = JSON.parse(process.argv[2]!) as Load
const stores: DurableStores =
  load.engine === 'SQLite' ? sqliteStores({ file: load.place }) : postgresStores(createPool(load.place, 4))

async function connect(): Promise<void> {
  for (;;) {
    const account = randomBytes(16).toString('hex')
    await connectOnce(stores.connect, account)
    process.stdout.write(`${account}\n`)
  }
}

await stores.ready()
await Promise.all(Array.from({ length: load.callers }, connect))
