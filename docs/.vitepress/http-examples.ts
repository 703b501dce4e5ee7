import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createCompatRouter,
  generateEnvelopeKey,
  keyring,
  memoryCalls,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from '../../src/index.js'
import { startStandIn } from '../../src/testing/stand-in/stand-in.js'

const MOUNT = '/compat/v1'
const HELLO = [{ role: 'user', content: 'Hello!' }]
/** The bodies of requests, in the order in which they are sent. */
const BODIES: Readonly<Record<string, object>> = {
  '/chat/completions': { model: 'acme/fast', messages: HELLO },
  '/responses': { model: 'acme/fast', input: 'Hello!' },
  '/messages': { model: 'acme/fast', max_tokens: 100, messages: HELLO },
  '/messages/count_tokens': { model: 'acme/fast', messages: HELLO },
  '/embeddings': { model: 'acme/embed', input: 'Hello!' },
}
const EMBEDDING = {
  object: 'list',
  model: 'text-embedding-3-small',
  data: [{ object: 'embedding', index: 0, embedding: [0.0023, -0.0091, 0.0154] }],
  usage: { prompt_tokens: 2, total_tokens: 2 },
}
/** The reply is the document that the page is made from. */
const WITHOUT_REPLY = '/openapi.json'

/** Returns a request and its reply as Markdown, by the name of the endpoint, such as `GET /models`. */
export async function httpExamples(endpoints: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const standIn = await startStandIn({ models: ['gpt-4o-mini'], tokenDelayMs: 0 })
  const embeddings = createServer((_req, res) => {
    res.setHeader('content-type', 'application/json').end(JSON.stringify(EMBEDDING))
  })
  const chat = openaiCompatible({ baseUrl: standIn.baseUrl, apiKey: standIn.apiKey })
  const embed = openaiCompatible({ baseUrl: await listen(embeddings) })
  const router = createCompatRouter({
    basePath: MOUNT,
    credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }),
    catalogue: memoryCatalogue([
      { id: 'acme/fast', prices: { input: '0.15', output: '0.60' } },
      { id: 'acme/embed', prices: { input: '0.02', output: '0' } },
    ]),
    ledger: memoryLedger({ alice: '5.00' }),
    providers: memoryProviders([
      { id: 'openai', models: { 'acme/fast': 'gpt-4o-mini' }, adapter: chat },
      { id: 'embeddings', models: { 'acme/embed': 'text-embedding-3-small' }, adapter: embed },
    ]),
    calls: memoryCalls(),
    envelopes: keyring([await generateEnvelopeKey('2026-01')]),
  })
  const server = createServer((req, res) => router(req, res))
  const base = await listen(server)
  const examples = new Map<string, string>()
  let lastCall = ''
  try {
    for (const endpoint of endpoints) {
      const [method, path] = endpoint.split(' ') as [string, string]
      const target =
        path.replace('{model_key}', 'acme/fast') + (path === '/generation' ? `?id=${lastCall}` : '')
      const body = BODIES[path]
      const response = await fetch(base + MOUNT + target, {
        method,
        headers: { authorization: 'Bearer sk-demo', 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const reply = (await response.json()) as { readonly id?: string }
      if (response.status !== 200)
        throw new Error(`${endpoint} got ${response.status}: ${JSON.stringify(reply)}`)
      if (path === '/chat/completions') lastCall = reply.id!
      const shown = path === WITHOUT_REPLY ? '' : `\n\n\`\`\`json\n${JSON.stringify(reply, null, 2)}\n\`\`\``
      examples.set(endpoint, `\`\`\`sh\n${curl(target, body)}\n\`\`\`${shown}`)
    }
  } finally {
    await router.close()
    await standIn.close()
    for (const one of [server, embeddings]) {
      one.close()
      one.closeAllConnections()
    }
  }
  return examples
}

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function curl(target: string, body: object | undefined): string {
  const lines = [`curl 'http://localhost:3000${MOUNT}${target}'`, `-H 'authorization: Bearer sk-demo'`]
  if (body !== undefined) lines.push(`-H 'content-type: application/json'`, `-d '${JSON.stringify(body)}'`)
  return lines.join(' \\\n  ')
}
