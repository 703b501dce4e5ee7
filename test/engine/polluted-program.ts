import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryLedger,
  openaiCompatible,
  type Principal,
} from '../../src/index.js'
import type { Route } from '../../src/stores.js'

/**
 * Makes the same calls before and after each of the given members is added to `Object.prototype`, and prints
 * the results each time.
 */
const planted = JSON.parse(process.argv[2]!) as Readonly<Record<string, unknown>>

const context = { requestId: 'test', signal: new AbortController().signal }
const dispatched: string[] = []
const upstream = createServer(async (req, res) => {
  dispatched.push(`${req.headers.authorization} ${await text(req)}`)
  res.setHeader('content-type', 'application/json')
  res.end(
    '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}',
  )
})
const port = (server: Server) =>
  new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )
const adapter = openaiCompatible({
  baseUrl: `http://127.0.0.1:${await port(upstream)}/v1`,
  apiKey: 'sk-upstream-of-the-host',
})

const routes: readonly Route[] = ['a', 'b'].map((id) => ({ id, provider: id, adapter, upstreamModel: 'up' }))
const principals: Readonly<Record<string, Principal>> = {
  key: { kind: 'api-key', credentialId: 'key', account: 'alice' },
  token: {
    kind: 'access-token',
    credentialId: 'token',
    account: 'alice',
    scopes: ['models.run'],
    app: { id: 'app', markup: { basisPoints: 1_000 }, allowedModels: ['acme/fast'] },
  },
}
const prices = { input: '2', output: '8' }
const model = { id: 'acme/fast', created: 1, ownedBy: 'acme', prices }

/** The values that a host's own stores return: frozen, or new for each call. */
async function calls(name: string, isFrozen: boolean): Promise<readonly unknown[]> {
  const give = <Value extends object>(given: Value): Value =>
    isFrozen ? Object.freeze(given) : ((Array.isArray(given) ? [...given] : { ...given }) as Value)
  const ledger = memoryLedger({ alice: '1' })
  const catalogue = memoryCatalogue([model])
  const router = createCompatRouter({
    credentials: { resolve: (token) => give({ ok: true, principal: give(principals[token]!) }) },
    catalogue: isFrozen
      ? catalogue
      : {
          list: () => [{ ...model, prices: { ...prices } }],
          get: () => ({ ...model, prices: { ...prices } }),
        },
    ledger,
    providers: { routes: () => give(routes.map(give)) },
    basePath: '/compat/v1',
  })
  const server = createServer(router)
  const url = `http://127.0.0.1:${await port(server)}/compat/v1`
  const outcomes: unknown[] = []
  const rounds = async () => {
    for (const token of ['key', 'token']) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ model: 'acme/fast', messages: [{ role: 'user', content: 'hi' }] })
      const reply = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
      const { usage, error } = (await reply.json()) as { usage?: unknown; error?: unknown }
      const list = await fetch(`${url}/models`, { headers })
      outcomes.push(reply.status, usage, error, dispatched.splice(0), await list.text())
    }
    outcomes.push(String((await ledger.balance('thief', context))?.posted))
  }
  await rounds()
  const clean = outcomes.splice(0)
  Object.defineProperty(Object.prototype, name, {
    value: name === 'secret' ? { reveal: () => 'sk-stolen' } : planted[name],
    configurable: true,
    enumerable: true,
    writable: true,
  })
  await rounds()
  delete (Object.prototype as Record<string, unknown>)[name]
  await router.close()
  server.close()
  server.closeAllConnections()
  return [clean, outcomes]
}

const results: Record<string, unknown> = {}
for (const name of Object.keys(planted)) results[name] = [await calls(name, false), await calls(name, true)]
process.stdout.write(JSON.stringify(results))
upstream.close()
upstream.closeAllConnections()
await adapter.close?.()
