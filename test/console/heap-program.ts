import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin } from '../../src/admin/index.js'
import { createConsole } from '../../src/console/index.js'
import { sqliteStores } from '../../src/sqlite/index.js'

/** A console over the SQLite file that its argument names, for the account alice. Writes its origin. */
const stores = sqliteStores({ file: process.argv[2]! })
await stores.ready()
const pages = createConsole({
  admin: createAdmin(stores),
  authorise: () => ({ kind: 'user', account: 'alice' }),
})
const server = createServer((req, res) => pages(req, res)).listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
