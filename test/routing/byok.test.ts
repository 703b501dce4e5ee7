import { afterEach, describe, expect, it } from 'vitest'
import type { Keyring } from '../../src/envelope/seal.js'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { generateEnvelopeKey, keyring } from '../../src/index.js'
import type { OpenResult } from '../../src/stores.js'
import { ChatClient } from '../helpers/chat-client.js'
import { finishChunk, sse, textChunk } from '../helpers/scripted-upstream.js'
import {
  ALICE,
  type Answer,
  APP,
  contentOf,
  errorOf,
  fails,
  MODEL,
  type Service,
  type ServiceOptions,
  startService,
  usageOf,
} from './service.js'

const HOST_KEY = 'host-key-of-p0'
const ROUTE_KEY = 'route-key-of-p1'
const CALLERS_KEY = 'sk-callers-own-0123456789'
const jwk = await generateEnvelopeKey('2026-11')
const old = await generateEnvelopeKey('2025-11')
const { d: _d, ...oldPublic } = old
const { d: _, ...strange } = await generateEnvelopeKey('strange')
const envelopes = keyring([jwk, { ...old, retired: true }])
const [published] = envelopes.publicKeys().keys

let service: Service
afterEach(() => service.close())

async function start({ router, ...options }: ServiceOptions = {}): Promise<Service> {
  service = await startService({
    routes: [
      { apiKey: HOST_KEY, byok: 'yes' },
      { byok: 'yes', secret: { reveal: () => ROUTE_KEY } },
    ],
    ...options,
    router: { envelopes, ...router },
  })
  return service
}

type Sealing = Partial<Parameters<typeof sealProviderKey>[0]>

function seal(more: Sealing = {}, to = published!): Promise<string> {
  return sealProviderKey({ key: CALLERS_KEY, provider: 'p0', account: 'alice', ...more }, to)
}

async function askWith(envelope: string, more: object = {}, token = ALICE): Promise<Answer> {
  return service.ask(
    { provider: 'p0', provider_key: envelope, ...more },
    { authorization: `Bearer ${token}` },
  )
}

const keysSeen = () =>
  service.upstreams.map(({ requests }) => requests.map(({ headers }) => headers.authorization))

describe.each([
  ['streamed', true],
  ['as JSON', false],
])("a call on the caller's own key, %s", (_, stream) => {
  it('goes to the pinned provider with only that key, and is free by default', async () => {
    const { end, posted } = await start()
    const answer = await askWith(await seal(), { stream })
    expect(answer.status).toBe(200)
    expect(contentOf(answer)).toBe('I am p0')
    expect(usageOf(answer)).toMatchObject({
      cost: 0,
      is_byok: true,
      charge: { basis: 'reported', base_cost: 0, markup_cost: 0 },
    })
    expect(keysSeen()).toEqual([[`Bearer ${CALLERS_KEY}`], []])
    const { charge, holdAmount, routing } = await end(answer)
    expect(charge).toMatchObject({ cost: 0n, byok: true })
    expect(holdAmount).toBe(0n)
    expect(routing).toEqual({
      considered: [`p0:${MODEL}`],
      excluded: [{ routeId: `p1:${MODEL}`, why: 'not the pinned provider' }],
      chosenBy: 'pin',
      attempts: [{ routeId: `p0:${MODEL}`, outcome: 'finished' }],
    })
    expect(await posted('alice')).toBe(1_000_000_000n)
  })

  it('takes precedence over the secret of a route', async () => {
    await start()
    const answer = await askWith(await seal({ provider: 'p1' }), { stream, provider: 'p1' })
    expect(contentOf(answer)).toBe('I am p1')
    expect(keysSeen()).toEqual([[], [`Bearer ${CALLERS_KEY}`]])
  })

  it("costs the host's fee plus the app's markup, and its hold covers both", async () => {
    const { end, posted } = await start({
      router: { byokFee: { flat: '0.001', basisPoints: 500 } },
    })
    const answer = await askWith(await seal(), { stream, max_tokens: 100 }, APP)
    // List price 0.0002. The fee is 5 % of it, 0.00001, and 0.001. The markup is 20 % of the fee.
    expect(usageOf(answer)).toMatchObject({
      cost: 0.001212,
      is_byok: true,
      charge: { base_cost: 0.00101, markup_cost: 0.000202 },
    })
    const { holdAmount } = await end(answer)
    // At most 10 prompt tokens and 100 of output, at 10 and 20 a million. The fee is 5 % of 0.0021, and
    // 0.001. The markup is 20 %.
    expect(holdAmount).toBe(1_326_000n)
    expect([await posted('alice'), await posted('platform'), await posted('app')]).toEqual([
      1_000_000_000n - 1_212_000n,
      1_010_000n,
      202_000n,
    ])
  })

  it('needs no credit if nothing is due, and is refused if the balance does not cover the fee', async () => {
    await start({ balance: '0' })
    expect((await askWith(await seal(), { stream })).status).toBe(200)
    await service.close()
    await start({ balance: '0.0009', router: { byokFee: { flat: '0.001' } } })
    const refused = await askWith(await seal(), { stream })
    expect([refused.status, errorOf(refused).code]).toEqual([402, 'insufficient_credits'])
    expect(keysSeen()).toEqual([[], []])
  })

  it.each([
    [401, 400, 'provider_key_rejected'],
    [403, 400, 'provider_key_rejected'],
    [429, 429, 'rate_limited'],
    [402, 502, 'provider_error'],
    [404, 502, 'provider_error'],
    [408, 504, 'provider_timeout'],
    [500, 502, 'provider_error'],
    [503, 503, 'provider_overloaded'],
    [400, 400, 'provider_key_rejected'],
    [400, 400, 'provider_rejected_request', 'This request is not for'],
  ])(
    'ends with status %s as %s %s, without a fallback, a charge, or a failure of the route',
    async (upstream, status, code, said = 'Incorrect API key provided:') => {
      const { end, posted, router, upstreams } = await start({
        routes: [
          { apiKey: HOST_KEY, byok: 'yes' },
          { apiKey: HOST_KEY, byok: 'yes' },
        ],
        router: { byokFee: { flat: '0.001' } },
      })
      const message = `${said} ${CALLERS_KEY}`
      upstreams[0]!.script(fails(upstream, { message, 'retry-after': '7' }))
      const answer = await askWith(await seal(), { stream })
      expect(answer.status).toBe(status)
      expect(errorOf(answer)).toMatchObject({ code, source: 'provider' })
      expect(errorOf(answer).param).toBe(code === 'provider_key_rejected' ? 'provider_key' : null)
      expect(answer.text).not.toContain(CALLERS_KEY)
      expect(answer.headers['retry-after']).toBe(status === 429 || status === 503 ? '7' : undefined)
      expect(keysSeen()).toEqual([[`Bearer ${CALLERS_KEY}`], []])
      expect((await end(answer)).charge).toBeUndefined()
      expect(await posted('alice')).toBe(1_000_000_000n)
      expect(router.routes()).toEqual([])
    },
  )
})

describe('an invalid envelope of a provider key', () => {
  const cases: [what: string, code: string, param: string, envelope: () => Promise<string>][] = [
    ['for another provider', 'provider_key_mismatch', 'provider_key', () => seal({ provider: 'p1' })],
    [
      'for a provider in different case',
      'provider_key_mismatch',
      'provider_key',
      () => seal({ provider: 'P0' }),
    ],
    ['for another account', 'provider_key_mismatch', 'provider_key', () => seal({ account: 'bob' })],
    ['expired', 'provider_key_expired', 'provider_key', () => seal({ expiresAt: Date.now() - 1_000 })],
    ['sealed to an unknown key', 'provider_key_invalid', 'provider_key', () => seal({}, strange)],
    ['cut', 'provider_key_invalid', 'provider_key', async () => (await seal()).slice(0, -1)],
    [
      'of a later version',
      'provider_key_not_encrypted',
      'provider_key',
      async () => (await seal()).replace('v1.', 'v2.'),
    ],
    ['a plaintext key', 'provider_key_not_encrypted', 'provider_key', async () => CALLERS_KEY],
    [
      'too long',
      'provider_key_not_encrypted',
      'provider_key',
      async () => `${await seal()}${'A'.repeat(8_192)}`,
    ],
    ['empty', 'provider_key_not_encrypted', 'provider_key', async () => ''],
  ]

  it.each(cases)('%s is 400 %s, and no provider is called', async (_, code, param, envelope) => {
    const { end, posted } = await start()
    const sealed = await envelope()
    const answer = await askWith(sealed)
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code, param, source: 'gateway' })
    if (sealed !== '') expect(answer.text).not.toContain(sealed)
    expect(answer.text).not.toContain(CALLERS_KEY)
    expect(keysSeen()).toEqual([[], []])
    expect((await end(answer)).outcome).toBe(code)
    expect(await posted('alice')).toBe(1_000_000_000n)
  })

  it('for the user of an app must be for that user, not the app', async () => {
    await start()
    expect(errorOf(await askWith(await seal({ account: 'app' }), {}, APP)).code).toBe('provider_key_mismatch')
    expect((await askWith(await seal({ account: 'alice' }), {}, APP)).status).toBe(200)
  })

  it('is refused after the credential, the model, the parameters and the pin, and before the credit', async () => {
    await start({
      balance: '0',
      router: { byokFee: { flat: '1' } },
      model: { supportedParameters: ['top_k'] },
    })
    const bad = 'v1.AAAA..AAAA.AAAA.AAAA'
    expect(errorOf(await askWith(bad, {}, 'nobody')).code).toBe('invalid_api_key')
    expect(errorOf(await askWith(bad, { model: 'other' })).code).toBe('model_not_found')
    expect(errorOf(await askWith(bad, { top_p: 0.5 })).code).toBe('unsupported_parameter')
    expect(errorOf(await askWith(bad, { provider: 'p9' })).code).toBe('provider_not_enabled')
    expect(errorOf(await askWith(bad)).code).toBe('provider_key_invalid')
    expect(errorOf(await askWith(await seal())).code).toBe('insufficient_credits')
  })
})

describe('pinning a call to a provider', () => {
  it('needs a provider and a key together, not one of the two, and not an object', async () => {
    await start()
    const sealed = await seal()
    for (const [body, param] of [
      [{ provider: 'p0' }, 'provider_key'],
      [{ provider_key: sealed }, 'provider'],
      [{ provider: { order: ['p0'] }, provider_key: sealed }, 'provider'],
    ] as const) {
      const answer = await service.ask(body)
      expect([answer.status, errorOf(answer).param]).toEqual([400, param])
    }
    expect(keysSeen()).toEqual([[], []])
  })

  it.each([
    ['disabled', { enabled: false, byok: 'yes' as const }],
    ['closed to keys of callers', { byok: 'no' as const }],
    ['not open to keys of callers', {}],
  ])('is refused if the provider is %s', async (_, route) => {
    await start({ routes: [{ apiKey: HOST_KEY, ...route }, {}] })
    const answer = await askWith(await seal())
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'provider_not_enabled'])
    expect(keysSeen()).toEqual([[], []])
  })

  it("reaches a route that is only for callers' keys, as no other call does", async () => {
    await start({ routes: [{ byok: 'only' }] })
    expect((await askWith(await seal())).status).toBe(200)
    const other = await service.ask()
    expect([other.status, errorOf(other).code]).toEqual([503, 'no_route_available'])
  })

  it('is refused if the host accepts no keys', async () => {
    service = await startService({ routes: [{ apiKey: HOST_KEY, byok: 'yes' }] })
    const answer = await askWith(await seal())
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'provider_not_enabled'])
    expect(keysSeen()).toEqual([[]])
  })
})

it.each([{}, { flat: '0.001' }])(
  "a fixed fee for callers' keys (%o) cuts no stream off under neverOverdraw",
  async (byokFee) => {
    const { upstreams, url } = await start({ router: { neverOverdraw: true, byokFee } })
    let read = () => {}
    const firstRead = new Promise<void>((resolve) => {
      read = resolve
    })
    upstreams[0]!.script([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('Once upon')]) },
      { wait: firstRead },
      { write: `${sse([textChunk(' a time'), finishChunk()])}data: [DONE]\n\n` },
      'end',
    ])
    const client = new ChatClient({
      url: `${url}/chat/completions`,
      headers: { authorization: `Bearer ${ALICE}` },
      body: {
        model: MODEL,
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
        provider: 'p0',
        provider_key: await seal(),
      },
    })
    await client.receives('Once upon')
    read()
    await client.over
    expect(client.text).toContain(' a time')
    expect(client.text).toContain('"finish_reason":"stop"')
  },
)

it('an envelope sealed with a retired key opens, and that key is not published', async () => {
  await start()
  expect(envelopes.publicKeys().keys.map(({ kid }) => kid)).toEqual(['2026-11'])
  expect((await askWith(await seal({}, oldPublic))).status).toBe(200)
})

describe("a host's broken envelope opener", () => {
  const opener = (open: () => unknown): Keyring =>
    ({ open: async () => open() as OpenResult, publicKeys: () => ({ keys: [] }) }) satisfies Keyring

  it.each([
    ['says ok without a key', () => ({ ok: true })],
    ['says ok without a secret', () => ({ ok: true, secret: null })],
    ['has a key that is not wrapped', () => ({ ok: true, secret: CALLERS_KEY })],
    ['has an empty key', () => ({ ok: true, secret: { reveal: () => '' } })],
    ['returns undefined', () => undefined],
    ['returns an unknown reason', () => ({ ok: false, reason: 'moon' })],
  ])("that %s causes a 500, and never a call on the host's key", async (_, open) => {
    const { events } = await start({ router: { envelopes: opener(open) } })
    const answer = await askWith(await seal())
    expect([answer.status, errorOf(answer).code]).toEqual([500, 'internal_error'])
    expect(events).toContainEqual(expect.objectContaining({ type: 'store-fault', store: 'envelopes' }))
    expect(keysSeen()).toEqual([[], []])
  })

  it('that throws causes a 503', async () => {
    await start({
      router: {
        envelopes: opener(() => {
          throw new Error('no')
        }),
      },
    })
    const answer = await askWith(await seal())
    expect([answer.status, errorOf(answer).code]).toEqual([503, 'envelope_opener_unavailable'])
    expect(keysSeen()).toEqual([[], []])
  })
})

it('a thousand bad caller keys change neither the health of the routes nor the routing of other calls', async () => {
  const { ask, router, upstreams } = await start()
  expect(contentOf(await ask())).toBe('I am p0')
  const before = JSON.stringify(router.routes())
  upstreams[0]!.script((reply, request) => {
    const own = request.headers.authorization === `Bearer ${HOST_KEY}`
    reply.head(own ? 500 : 401, { 'retry-after': '30', 'content-length': '0' })
  })
  const sealed = await seal()
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => askWith(sealed)))
    for (const answer of answers) expect(errorOf(answer).code).toBe('provider_key_rejected')
  }
  expect(upstreams[0]!.requests).toHaveLength(1_001)
  expect(JSON.stringify(router.routes())).toBe(before)
  expect((await ask()).status).toBe(200)
  expect(upstreams[0]!.requests).toHaveLength(1_002)
})
