import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { generateEnvelopeKey, keyring } from '../../src/index.js'
import { type Ask, Bench, JSON_REPLY } from './bench.js'

const envelopeKey = await generateEnvelopeKey('k1')
const { d: _, ...publicKey } = envelopeKey
let bench: Bench

beforeEach(async () => {
  bench = await Bench.start({ router: { envelopes: keyring([envelopeKey]) } })
  bench.upstream.script(JSON_REPLY)
})
afterEach(() => bench.finish())

const codeOf = (text: string) => JSON.parse(text).error?.code

/** A second request's answer: the first one's answer, a refusal, or an answer of its own. */
async function second(first: Ask, then: Ask): Promise<'replayed' | 'mismatch' | 'own'> {
  await bench.ask({ key: 'k', ...first })
  const dispatched = bench.dispatched
  const { headers, status, text } = await bench.ask({ key: 'k', ...then })
  if (status === 422) {
    expect(codeOf(text)).toBe('idempotency_mismatch')
    return 'mismatch'
  }
  expect(status).toBe(200)
  if (headers['idempotent-replayed'] === 'true') {
    expect(bench.dispatched).toBe(dispatched)
    return 'replayed'
  }
  expect(bench.dispatched).toBe(dispatched + 1)
  return 'own'
}

describe('an Idempotency-Key', () => {
  it.each(['!', '~', 'a'.repeat(255), '__proto__', '"quoted"'])('may be %j', async (key) => {
    expect(await second({ key }, { key })).toBe('replayed')
  })

  it.each(['a b', 'a'.repeat(256), 'caf\u00e9', ''])('may not be %j', async (key) => {
    const { status, text } = await bench.ask({ key })
    expect(status).toBe(400)
    expect(JSON.parse(text).error).toMatchObject({ code: 'invalid_request', param: 'Idempotency-Key' })
    expect(bench.dispatched).toBe(0)
  })

  it('is checked after the credential, the scope and the body', async () => {
    await bench.ask({ key: 'k' })
    const unknown = await bench.ask({ key: 'k', token: 'nobody' })
    expect([unknown.status, codeOf(unknown.text)]).toEqual([401, 'invalid_api_key'])
    const bad = await bench.ask({ key: 'k', body: { messages: [] } })
    expect([bad.status, codeOf(bad.text)]).toEqual([400, 'invalid_request'])
    const missing = await bench.ask({ key: 'k', body: { model: 'acme/none' } })
    expect([missing.status, codeOf(missing.text)]).toEqual([404, 'model_not_found'])
    bench.credentials.suspend('alice')
    const suspended = await bench.ask({ key: 'k' })
    expect([suspended.status, codeOf(suspended.text)]).toEqual([403, 'account_suspended'])
    expect(bench.charges).toBe(1)
  })

  it('has no effect if it is absent', async () => {
    const [one, two] = [await bench.ask(), await bench.ask()]
    expect([one.status, two.status, bench.charges]).toEqual([200, 200, 2])
    expect(two.headers['idempotent-replayed']).toBeUndefined()
  })
})

describe('the scope of an Idempotency-Key', () => {
  it.each<[string, Ask, Ask, string]>([
    ['is one credential', { token: 'alice' }, { token: 'alice-2' }, 'own'],
    ['is one account, even with two credentials of one name', { token: 'bob' }, { token: 'carol' }, 'own'],
    ['is one app', { token: 'app-token' }, { token: 'other-app-token' }, 'own'],
    ['is not shared by an app and its user', { token: 'alice' }, { token: 'app-token' }, 'own'],
    [
      'survives the refresh of an access token',
      { token: 'app-token' },
      { token: 'app-token-refreshed' },
      'replayed',
    ],
  ])('%s', async (_name, first, then, expected) => {
    expect(await second(first, then)).toBe(expected)
  })
})

describe('the digest of a body with an Idempotency-Key', () => {
  const base = {
    temperature: 0.5,
    metadata: { a: '1', b: '2' },
    routing: { sort: 'price', max_price: { input: '20.0' } },
  }

  it.each<[string, Ask]>([
    ['the same body', {}],
    [
      'another order of fields, at every depth',
      {
        body: {
          routing: { max_price: { input: '20.0' }, sort: 'price' },
          metadata: { b: '2', a: '1' },
          temperature: 0.5,
        },
      },
    ],
    ['another way to write a number', { body: { ...base, temperature: 5e-1 } }],
    ['a default written out', { body: { ...base, routing: { ...base.routing, allow_fallbacks: true } } }],
    ['stream: false', { body: { ...base, stream: false } }],
    ['stream: null', { body: { ...base, stream: null } }],
    ['stream_options', { body: { ...base, stream_options: { include_usage: true } } }],
    ['action, connected and app_id', { body: { ...base, action: 'a', connected: [1], app_id: 'label' } }],
    ['the header x-session-id', { headers: { 'x-session-id': 's1' } }],
    ['x-stainless-retry-count', { headers: { 'x-stainless-retry-count': '1' } }],
  ])('is the same for %s', async (_name, then) => {
    expect(await second({ body: base }, { body: base, ...then })).toBe('replayed')
  })

  it.each<[string, object]>([
    ['another message', { messages: [{ role: 'user', content: 'other' }] }],
    ['another role', { messages: [{ role: 'system', content: 'hello' }] }],
    [
      'messages in another order',
      {
        messages: [
          { role: 'user', content: 'b' },
          { role: 'user', content: 'a' },
        ],
      },
    ],
    ['another parameter', { top_p: 0.5 }],
    ['another value', { temperature: 0.6 }],
    ['a value of another type', { logprobs: 1 }],
    ['a stream', { stream: true }],
    ['max_tokens', { max_tokens: 99 }],
    ['user', { user: 'u' }],
    ['routing', { routing: { sort: 'latency' } }],
    ['session_id in the body', { session_id: 's' }],
  ])('is different for %s', async (_name, body) => {
    expect(await second({ body: base }, { body: { ...base, ...body } })).toBe('mismatch')
    expect(bench.charges).toBe(1)
  })

  it('is the same for a provider key that was sealed again, but different for another provider', async () => {
    const seal = () => sealProviderKey({ key: 'sk-own', provider: 'p0', account: 'alice' }, publicKey)
    const own = async () => ({ body: { provider: 'p0', provider_key: await seal() } })
    expect(await second(await own(), await own())).toBe('replayed')
    expect(await second({ key: 'other' }, { key: 'other', ...(await own()) })).toBe('mismatch')
  })
})
