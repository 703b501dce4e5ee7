/**
 * An existing application with its own users, routes and JSON parser. The router is mounted before the parser, and finds
 * its callers among the application's users. The application needs Express 5: in Express 4, an async handler that rejects
 * ends the process.
 * Run it with `OPENAI_API_KEY=sk-… npx tsx examples/existing-app.ts`.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import {
  createCompatRouter,
  formatCredits,
  memoryCatalogue,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from 'compat-router'
import type { CredentialStore } from 'compat-router/stores'
import express, { type ErrorRequestHandler } from 'express'

interface User {
  name: string
  keyDigest: Buffer
  suspended: boolean
}

const digest = (text: string) => createHash('sha256').update(text).digest()

export function createApp({
  baseUrl = 'https://api.openai.com/v1',
  apiKey = process.env.OPENAI_API_KEY ?? '',
} = {}) {
  const users: User[] = [
    { name: 'alice', keyDigest: digest('sk-alice'), suspended: false },
    { name: 'mallory', keyDigest: digest('sk-mallory'), suspended: true },
  ]
  const userOf = (token: string) => users.find((user) => timingSafeEqual(user.keyDigest, digest(token)))

  const credentials: CredentialStore = {
    resolve(token) {
      const user = userOf(token)
      if (user === undefined) return { ok: false, reason: 'unknown' }
      if (user.suspended) return { ok: false, reason: 'suspended' }
      return {
        ok: true,
        // Everybody knows these keys, so no page of a browser may use them.
        principal: { kind: 'api-key', credentialId: `key of ${user.name}`, account: user.name, origins: [] },
      }
    },
  }
  const ledger = memoryLedger({ alice: '5.00', mallory: '5.00' })
  const router = createCompatRouter({
    credentials,
    ledger,
    catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '0.15', output: '0.60' } }]),
    providers: memoryProviders([
      {
        id: 'openai',
        models: { 'acme/fast': 'gpt-4o-mini' },
        adapter: openaiCompatible({ baseUrl, apiKey }),
      },
    ]),
  })

  const app = express()
  app.use('/compat/v1', router)
  app.use(express.json())
  app.post('/echo', (req, res) => {
    res.json(req.body)
  })
  app.get('/balance', async (req, res) => {
    const [, token = ''] = /^Bearer (\S+)$/.exec(req.get('authorization') ?? '') ?? []
    const user = userOf(token)
    if (user === undefined || user.suspended) {
      res.status(401).json({ error: 'Send your key' })
      return
    }
    const { signal } = new AbortController()
    const balance = await ledger.balance(user.name, { requestId: 'balance', signal })
    res.json({ available: formatCredits(balance?.available ?? 0n) })
  })
  // Without it, Express shows everybody the stack trace of an error.
  const failed: ErrorRequestHandler = (error, _req, res, _next) => {
    const isInput = error.expose === true
    if (!isInput) console.error(error)
    res.status(isInput ? 400 : 500).json({ error: isInput ? error.message : 'Something went wrong' })
  }
  app.use(failed)
  return { app, router }
}

if (process.argv[1] === import.meta.filename) {
  const server = createApp().app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
  server.once('listening', () => {
    const { port } = server.address() as AddressInfo
    console.log(`curl http://127.0.0.1:${port}/compat/v1/models -H 'authorization: Bearer sk-alice'`)
  })
}
