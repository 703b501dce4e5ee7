/** The built package as a gateway of its own process, with stores in memory or in a SQLite file. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readSetup, serve } from '../../bench/lib/serve.js'
import type { Bank } from './ours-banks.js'
import { memoryBank, sqliteBank } from './ours-banks.js'
import type { OursQuestion, OursSetup } from './ours-messages.js'

const DIST = fileURLToPath(new URL('../../../dist/', import.meta.url))
const built = async <Module>(entry: string): Promise<Module> =>
  (await import(pathToFileURL(`${DIST}${entry}.js`).href)) as Module

const setup = readSetup<OursSetup>()
const library = await built<typeof import('compat-router')>('index')
const bank: Bank =
  setup.file === undefined
    ? memoryBank(library)
    : await sqliteBank(
        await built<typeof import('compat-router/sqlite')>('sqlite'),
        await built<typeof import('compat-router/admin')>('admin'),
        setup.file,
      )
const adapter = library.openaiCompatible({ baseUrl: setup.upstream, apiKey: 'key-of-the-host' })
let lastHold = 0n
const router = library.createCompatRouter({
  credentials: bank.credentials,
  ledger: {
    ...bank.ledger,
    hold(request, context) {
      lastHold = request.amount
      return bank.ledger.hold(request, context)
    },
  },
  catalogue: library.memoryCatalogue([{ id: setup.model, prices: setup.prices }]),
  providers: library.memoryProviders([{ id: 'scripted', models: { [setup.model]: setup.model }, adapter }]),
  onEvent: false,
})
const server = createServer((req, res) => router(req, res))
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  serve<OursQuestion>({ port: (server.address() as AddressInfo).port }, answer)
})

async function answer(question: OursQuestion): Promise<unknown> {
  switch (question.what) {
    case 'charges':
      while (router.inFlight > 0) await new Promise((resolve) => setImmediate(resolve))
      return (await bank.charges()).map(String)
    case 'open-credit':
      return bank.openCredit(question.amount)
    case 'open-cap':
      return bank.openCap(question.amount)
    case 'revoke':
      return bank.revoke(question.key)
    case 'last-hold':
      return String(lastHold)
    case 'close':
      server.close()
      server.closeAllConnections()
      await router.close()
      await bank.close()
      await adapter.close?.()
      return undefined
  }
}
