import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { sealProviderKey } from '../../src/envelope/seal.js'
import {
  anthropic,
  createSecret,
  generateEnvelopeKey,
  keyring,
  memoryProviders,
  openaiCompatible,
} from '../../src/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import type { MemoryProvider } from '../../src/stores.js'
import { answerJson, type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'
import { answers, errorOf, MODEL, type Service, startService, UPSTREAM_MODEL, usageOf } from './service.js'

const MADE_UP = 'sk-made-up-0123456789'
const HOST_KEY = 'sk-host-9876543210'
const HOST_HEADERS = {
  'api-key': 'azure-9876543210',
  'x-proxy-token': 'proxy-9876543210',
  cookie: 'sid=9876543210',
  'x-amz-signature': 'signed-9876543210',
  'x-via': 'Bearer via-9876543210',
  'x-team': 'north',
}
const envelopes = keyring([await generateEnvelopeKey('2026-11')])
const seal = () =>
  sealProviderKey({ key: MADE_UP, provider: 'p', account: 'alice' }, envelopes.publicKeys().keys[0]!)

let service: Service | undefined
let upstream: ScriptedUpstream
const adapters: ProviderAdapter[] = []
beforeEach(async () => {
  upstream = await startScriptedUpstream()
})
afterEach(async () => {
  await service?.close()
  service = undefined
  for (const adapter of adapters.splice(0)) await adapter.close?.()
  await upstream.close()
})

async function start(adapter: ProviderAdapter, route: Partial<MemoryProvider>): Promise<Service> {
  adapters.push(adapter)
  const providers = memoryProviders([{ id: 'p', models: { [MODEL]: UPSTREAM_MODEL }, adapter, ...route }])
  service = await startService({ routes: [], balance: '0', router: { envelopes, providers } })
  return service
}

/** The request that reaches the provider of a call on the made-up key, and the answer to the caller. */
async function pay(adapter: ProviderAdapter, route: Partial<MemoryProvider>) {
  const { ask, end } = await start(adapter, route)
  const answer = await ask({ provider: 'p', provider_key: await seal() })
  await end(answer)
  return { answer, requests: upstream.requests }
}

const keyless: readonly [what: string, make: () => ProviderAdapter, route?: Partial<MemoryProvider>][] = [
  ['openaiCompatible without a key', () => openaiCompatible({ baseUrl: upstream.baseUrl })],
  ['anthropic without a key', () => anthropic({ baseUrl: upstream.baseUrl })],
  [
    'a credential in the headers',
    () => openaiCompatible({ baseUrl: upstream.baseUrl, headers: HOST_HEADERS }),
  ],
  ...['none', 'EMPTY', 'x'].map((apiKey): (typeof keyless)[number] => [
    `the placeholder ${apiKey}`,
    () => openaiCompatible({ baseUrl: upstream.baseUrl, apiKey }),
  ]),
  [
    'a placeholder as the secret of its route',
    () => openaiCompatible({ baseUrl: upstream.baseUrl }),
    { secret: createSecret('none') },
  ],
  ['a model of the AI SDK that is not known to use keys', () => aiSdk({ model: sdkModel })],
  [
    'an adapter without takesKeys',
    () => ({ chat: openaiCompatible({ baseUrl: upstream.baseUrl, apiKey: HOST_KEY }).chat }),
    { secret: createSecret(HOST_KEY) },
  ],
]

const sdkModel = (name: string, key = HOST_KEY) =>
  createOpenAICompatible({ name: 'sdk', baseURL: upstream.baseUrl, apiKey: key, includeUsage: true })(name)

describe('a made-up key buys nothing', () => {
  it.each(keyless)('from %s', async (_what, make, route) => {
    upstream.script(answers('free'))
    const { answer, requests } = await pay(make(), { byok: 'yes', ...route })
    expect([answer.status, errorOf(answer)]).toEqual([
      400,
      expect.objectContaining({ code: 'provider_not_enabled', param: 'provider' }),
    ])
    expect(requests).toEqual([])
  })

  it.each([undefined, 'no'] as const)('from a route whose byok is %s', async (byok) => {
    const adapter = openaiCompatible({ baseUrl: upstream.baseUrl, apiKey: HOST_KEY })
    const { answer, requests } = await pay(adapter, byok === undefined ? {} : { byok })
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'provider_not_enabled'])
    expect(requests).toEqual([])
  })

  it.each(['no', 'yes'] as const)(
    'from a route with null for its unset fields secret and byok (byok %s)',
    async (byok) => {
      const adapter = openaiCompatible({ baseUrl: upstream.baseUrl })
      adapters.push(adapter)
      const row = {
        id: 'r',
        provider: 'p',
        adapter,
        upstreamModel: 'u',
        byok: byok === 'no' ? null : byok,
        secret: null,
      }
      service = await startService({
        routes: [],
        router: { envelopes, providers: { routes: () => [row as never] } },
      })
      const answer = await service.ask({ provider: 'p', provider_key: await seal() })
      expect(errorOf(answer).code).toBe('provider_not_enabled')
    },
  )
})

type Connect = (baseUrl: string, apiKey?: string) => ProviderAdapter
const speaking: readonly [name: string, connect: Connect, header: string, wrap: (key: string) => string][] = [
  [
    'openaiCompatible',
    (baseUrl, apiKey) => openaiCompatible({ baseUrl, headers: HOST_HEADERS, ...(apiKey && { apiKey }) }),
    'authorization',
    (key) => `Bearer ${key}`,
  ],
  [
    'anthropic',
    (baseUrl, apiKey) => anthropic({ baseUrl, headers: HOST_HEADERS, ...(apiKey && { apiKey }) }),
    'x-api-key',
    (key) => key,
  ],
]

describe.each(speaking)('the credentials that %s sends', (_name, connect, header, wrap) => {
  const refusing = answerJson({ error: { message: 'no' } }, 401)
  const credentials = Object.entries(HOST_HEADERS).filter(([name]) => name !== 'x-team')

  it("on the host's account are its key and all its headers", async () => {
    upstream.script(refusing)
    const { ask, end, ledger } = await start(connect(upstream.baseUrl, HOST_KEY), { byok: 'yes' })
    ledger.credit('alice', '1')
    await end(await ask())
    expect(upstream.requests[0]?.headers).toMatchObject({ ...HOST_HEADERS, [header]: wrap(HOST_KEY) })
  })

  it.each([
    ['byok is yes, and there is a key', HOST_KEY, { byok: 'yes' as const }],
    [
      'byok is yes, and there is a secret',
      undefined,
      { byok: 'yes' as const, secret: createSecret(HOST_KEY) },
    ],
    ['byok is only', undefined, { byok: 'only' as const }],
  ])("for a caller's key are that key and no credential of the host: %s", async (_what, apiKey, route) => {
    upstream.script(refusing)
    const { answer, requests } = await pay(connect(upstream.baseUrl, apiKey), route)
    expect(errorOf(answer).code).toBe('provider_key_rejected')
    const [request] = requests
    expect(request?.headers).toMatchObject({ [header]: wrap(MADE_UP), 'x-team': 'north' })
    for (const [name] of credentials) expect(request?.headers).not.toHaveProperty(name)
    expect(JSON.stringify(request?.headers)).not.toContain('9876543210')
  })
})

it("an AI SDK model with takesKeys is called with only the caller's key", async () => {
  upstream.script(answers('paid elsewhere'))
  const { answer, requests } = await pay(aiSdk({ model: sdkModel, takesKeys: true }), { byok: 'yes' })
  expect(usageOf(answer)).toMatchObject({ cost: 0, is_byok: true })
  expect(requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${MADE_UP}`])
})

it("a credential of the adapter's own kind in the headers is refused at construction, with or without a key", () => {
  const baseUrl = 'http://127.0.0.1:9/v1'
  for (const apiKey of [undefined, HOST_KEY]) {
    const key = apiKey === undefined ? {} : { apiKey }
    const authorization = { Authorization: `Bearer ${HOST_KEY}` }
    expect(() => openaiCompatible({ baseUrl, ...key, headers: authorization })).toThrow(
      'headers.Authorization is set by the router',
    )
    expect(() => anthropic({ baseUrl, ...key, headers: { 'X-API-Key': HOST_KEY } })).toThrow(
      'headers.X-API-Key is set by the adapter; use apiKey',
    )
  }
})
