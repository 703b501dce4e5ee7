import { createOpenAI } from '@ai-sdk/openai'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ProviderError } from '../../src/base/errors.js'
import { whyItFailed } from '../../src/engine/failures/why-it-failed.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { anthropic } from '../../src/providers/anthropic/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import { answerJson, type Script, startScriptedUpstream } from '../helpers/scripted-upstream.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { ALICE, MODEL, type Service, startService, UPSTREAM_MODEL } from './service.js'

/** No name server knows it. */
const HOST = 'api.acme-models.invalid'
const MESSAGES = [{ role: 'user', content: 'Hello' }]
const CONTEXT = { secrets: ['hunter2-is-the-key'], upstreamModel: UPSTREAM_MODEL, modelKey: MODEL }

let service: Service

interface Asked {
  readonly path: string
  readonly body: object
}

const requests: readonly Asked[] = [true, false].flatMap((stream) => [
  { path: '/chat/completions', body: { messages: MESSAGES, stream } },
  { path: '/responses', body: { input: 'Hello', stream } },
  { path: '/messages', body: { messages: MESSAGES, max_tokens: 50, stream } },
])
const embeddings: Asked = { path: '/embeddings', body: { input: 'Hello' } }
const count: Asked = { path: '/messages/count_tokens', body: { messages: MESSAGES } }

let calls = 0

/** Returns the text of the answer, with its headers, and the reason in the event. */
async function ask({ path, body }: Asked) {
  const id = `seen-${++calls}`
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json', 'x-request-id': id },
    body: JSON.stringify({ model: MODEL, ...body }),
  })
  const seen = JSON.stringify([...response.headers]) + (await response.text())
  const { routing } = await service.end({ id })
  return { status: response.status, seen, why: routing?.attempts[0]?.why ?? '' }
}

const adapters = {
  openaiCompatible: (baseURL: string) =>
    openaiCompatible({ baseUrl: baseURL, apiKey: 'host-key-1234567890' }),
  'openaiCompatible with responses': (baseURL: string) =>
    openaiCompatible({ baseUrl: baseURL, apiKey: 'host-key-1234567890', api: 'responses' }),
  anthropic: (baseURL: string) => anthropic({ baseUrl: baseURL, apiKey: 'host-key-1234567890' }),
  aiSdk: (baseURL: string) => {
    const provider = createOpenAI({ baseURL, apiKey: 'host-key-1234567890' })
    return aiSdk({
      model: (name) => provider.chat(name),
      embeddingModel: (name) => provider.textEmbeddingModel(name),
    })
  },
}

describe.each(Object.entries(adapters))('if a provider fails with %s', (name, connect) => {
  const asked = name === 'anthropic' ? [...requests, count] : [...requests, embeddings]

  it('the host sees the address of a host without an address, and no caller does', async () => {
    const clock = createSteppedClock()
    const routes = [{ adapter: connect(`http://${HOST}/base/v1`) }]
    service = await startService({ routes, balance: '100', router: { clock } })
    onTestFinished(() => service.close())
    for (const one of asked) {
      // A route that keeps failing is called again after this time.
      await clock.elapse(60_000)
      const { seen, status, why } = await ask(one)
      if (one === count) expect(status).toBe(200)
      else {
        expect(status, seen).toBe(502)
        expect(why, one.path).toContain(`(http://${HOST}/base/v1/`)
        expect(why).toMatch(/ENOTFOUND|EAI_AGAIN/)
        expect(why).not.toContain('[redacted]')
      }
      expect(seen).not.toContain('acme-models')
      expect(seen).not.toMatch(/ENOTFOUND|EAI_AGAIN/)
    }
  })

  it("the host sees the provider's name of the model, and no caller does", async () => {
    const upstream = await startScriptedUpstream()
    onTestFinished(() => upstream.close())
    const message = `The model \`${UPSTREAM_MODEL}\` does not exist.`
    upstream.script(answerJson({ error: { message, code: 'model_not_found' } }, 404))
    service = await startService({ routes: [{ adapter: connect(upstream.baseUrl) }], balance: '100' })
    onTestFinished(() => service.close())
    for (const one of asked) {
      const { seen, status, why } = await ask(one)
      if (one === count) expect(status).toBe(200)
      else {
        expect(status, seen).toBe(502)
        expect(why).toContain(`It said: ${message}`)
        expect(why).toContain(`(${upstream.baseUrl}/`)
      }
      expect(seen).not.toContain(UPSTREAM_MODEL)
      expect(seen).not.toContain('127.0.0.1')
    }
    expect(upstream.requests).toHaveLength(asked.length)
  })
})

describe('a wrong base URL', () => {
  it.each<[string, Script, string, string]>([
    [
      'a page with status 200',
      [{ head: 200, headers: { 'content-type': 'text/html' } }, { write: '<!doctype html><p>Hi' }, 'end'],
      'It is a web page: perhaps the base URL is wrong.',
      'The provider of this model sent a reply that cannot be read.',
    ],
    [
      'a page with status 404',
      [{ head: 404, headers: { 'content-type': 'text/html' } }, { write: '<!doctype html><p>Hi' }, 'end'],
      'It is a web page: perhaps the base URL is wrong.',
      'The provider of this model failed.',
    ],
    [
      'a redirect',
      [{ head: 308, headers: { location: 'https://me:pass@www.acme.example/v1?key=abc' } }, 'end'],
      'Perhaps the base URL is wrong: it points to https://www.acme.example/v1',
      'The provider of this model sent a reply that cannot be read.',
    ],
  ])(
    'that answers %s is reported to the host with a hint, and its callers get a constant text',
    async (...given) => {
      const [, script, hint, message] = given
      service = await startService({ balance: '100' })
      onTestFinished(() => service.close())
      service.upstreams[0]!.script(script)
      for (const stream of [true, false]) {
        const { seen, status, why } = await ask({
          path: '/chat/completions',
          body: { messages: MESSAGES, stream },
        })
        expect([status, why]).toEqual([502, expect.stringContaining(hint)])
        expect(why).toContain(`(${service.upstreams[0]!.baseUrl}/chat/completions)`)
        expect(why).not.toMatch(/pass|abc/)
        expect(seen).toContain(`"message":"${message}"`)
        expect(seen).not.toMatch(/base URL|acme\.example/)
      }
    },
  )
})

describe("the provider's words that a host sees", () => {
  const why = (...error: ConstructorParameters<typeof ProviderError>): string =>
    whyItFailed(new ProviderError(...error), CONTEXT)
  const said = (providerMessage: string) =>
    why('status', 'The provider answered 404.', { status: 404, providerMessage }).replace(
      'The provider answered 404. It said: ',
      '',
    )

  it.each([
    ['a host', 'getaddrinfo ENOTFOUND api.acme.example', 'getaddrinfo ENOTFOUND api.acme.example'],
    [
      'a long host',
      'No my-deployment-eastus2-0123.openai.azure.com',
      'No my-deployment-eastus2-0123.openai.azure.com',
    ],
    [
      'an address',
      'connect ECONNREFUSED 10.1.2.3:8080 ::1 localhost:11434',
      'connect ECONNREFUSED 10.1.2.3:8080 ::1 localhost:11434',
    ],
    ['a URL', 'See https://docs.acme.example/errors/404', 'See https://docs.acme.example/errors/404'],
    ['the name of the model', `No ${UPSTREAM_MODEL}.`, `No ${UPSTREAM_MODEL}.`],
  ])('keep %s', (_, words, kept) => {
    expect(said(words)).toBe(kept)
  })

  it.each([
    ['a user and a password', 'At https://me:hush-hush@acme.example/v1', 'At https://acme.example/v1'],
    ['a password with a slash', 'At https://me:hush-/hu@sh@acme.example/v1', '[redacted]'],
    ['a query', 'At https://acme.example/v1?key=abc&x=1 now', 'At https://acme.example/v1 now'],
    [
      'a query after the name of the model',
      `At https://acme.example/${UPSTREAM_MODEL}/x?sig=abcdef now`,
      `At https://acme.example/${UPSTREAM_MODEL}/x now`,
    ],
    ['a fragment', 'At https://acme.example/v1#token', 'At https://acme.example/v1'],
    ['a key', 'Key sk-proj-0123456789 is wrong', 'Key [redacted] is wrong'],
    ['a named key', 'api_key: abc.def.ghi is wrong', 'api_key: [redacted] is wrong'],
    ['a long token', 'No a1b2c3d4e5f6g7h8i9j0k1l2', 'No [redacted]'],
    [
      'a JSON web token',
      `No eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r`,
      'No [redacted].[redacted].[redacted]',
    ],
    ['an e-mail address', 'Ask me@acme.example', 'Ask [redacted]'],
  ])('do not contain %s', (_, words, cleaned) => {
    expect(said(words)).toContain(cleaned)
    expect(said(words)).not.toMatch(/hush|key=|sig=|#token|0123456789|abc\.def|eyJ|me@/)
  })

  it('are omitted entirely if they contain a key of the call', () => {
    expect(said('The key hunter2-is-the-key is wrong at acme.example')).toBe('The provider answered 404.')
    const address = 'https://me:hunter3@acme.example/v1?key=hunter3#hunter3'
    expect(why('unreachable', 'No connection could be made.', { address })).toBe(
      'No connection could be made (https://acme.example/v1).',
    )
  })
})
