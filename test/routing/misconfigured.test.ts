import { afterEach, describe, expect, it } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import {
  createSecret,
  generateEnvelopeKey,
  keyring,
  memoryCredentials,
  memoryLedger,
  type RouterEvent,
} from '../../src/index.js'
import { printFailures } from '../../src/print-failures.js'
import type { Route } from '../../src/stores.js'
import { ChatClient } from '../helpers/chat-client.js'
import { createDeferred } from '../helpers/deferred.js'
import { answerJson, finishChunk, type Script, sse, textChunk } from '../helpers/scripted-upstream.js'
import { createSteppedClock, type SteppedClock } from '../helpers/stepped-clock.js'
import {
  ALICE,
  type Answer,
  answers,
  contentOf,
  errorOf,
  fails,
  MODEL,
  type Service,
  type ServiceOptions,
  startService,
  UPSTREAM_MODEL,
} from './service.js'

const BOB = 'token-of-bob'
const P0 = `p0:${MODEL}`
const as = (token: string) => ({ authorization: `Bearer ${token}` })

let service: Service
let clock: SteppedClock
afterEach(() => service.close())

/** A service on a stepped clock with two accounts and, unless told otherwise, two routes. */
async function start({ router, ...options }: ServiceOptions = {}): Promise<Service> {
  clock = createSteppedClock()
  service = await startService({
    routes: [{}, {}],
    ...options,
    router: {
      clock,
      credentials: memoryCredentials({
        [ALICE]: { kind: 'api-key', account: 'alice' },
        [BOB]: { kind: 'api-key', account: 'bob' },
      }),
      ledger: memoryLedger({ alice: '100', bob: '100' }),
      ...router,
    },
  })
  return service
}

function refuses(status: number, error: object): Script {
  return answerJson({ error }, status)
}

const WRONG_KEY = refuses(401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' })
const NO_MODEL = refuses(404, {
  message: `The model \`${UPSTREAM_MODEL}\` does not exist or you do not have access to it.`,
  code: 'model_not_found',
})

const counts = () => service.upstreams.map(({ requests }) => requests.length)
const stateOf = (routeId = P0) => service.router.routes().find((route) => route.routeId === routeId)
const told = (type: RouterEvent['type']) => service.events.filter((event) => event.type === type)

/** Has the first route refuse a call of Alice and one of Bob, as the second one answers them. */
async function misconfigure(script: Script = WRONG_KEY, body: object = {}): Promise<Answer[]> {
  service.upstreams[0]!.script(script)
  return [await service.ask(body, as(ALICE)), await service.ask(body, as(BOB))]
}

describe('a route whose provider refuses the key', () => {
  it('is misconfigured from the second account in a row on, is tried last, and is reported once', async () => {
    const { ask, end, router } = await start()
    for (const answer of await misconfigure()) expect(contentOf(answer)).toBe('I am p1')
    expect(counts()).toEqual([2, 2])
    for (let call = 0; call < 30; call++) expect(contentOf(await ask())).toBe('I am p1')
    expect(counts()).toEqual([2, 32])
    const avoided = await ask()
    expect((await end(avoided)).routing).toMatchObject({
      considered: [`p1:${MODEL}`, P0],
      behind: [{ routeId: P0, why: 'misconfigured' }],
    })
    expect(told('route-misconfigured')).toEqual([
      {
        type: 'route-misconfigured',
        requestId: 'call-2',
        routeId: P0,
        provider: 'p0',
        model: MODEL,
        flaw: 'key',
        why: expect.stringMatching(
          /^The provider refuses the key of this route\. The provider answered 401.*Incorrect API key provided\.$/,
        ),
      },
    ])
    expect(stateOf()).toEqual({
      routeId: P0,
      provider: 'p0',
      state: 'misconfigured',
      flaw: 'key',
      failureRate: expect.closeTo(0.36),
      lastError: {
        at: clock.now(),
        outcome: 'provider_auth_failed',
        why: expect.stringContaining('Incorrect API key provided.'),
      },
    })
    expect(router.routes()).toHaveLength(2)
  })

  it('is in routes() with its last error after the first refusal, before it counts as misconfigured', async () => {
    const { ask, upstreams } = await start()
    upstreams[0]!.script(WRONG_KEY)
    await ask()
    expect(stateOf()).toMatchObject({ state: 'closed', lastError: { outcome: 'provider_auth_failed' } })
    expect(told('route-misconfigured')).toEqual([])
  })

  it('is not misconfigured if a success came between two accounts', async () => {
    const { ask, upstreams } = await start()
    for (let round = 0; round < 3; round++) {
      upstreams[0]!.script(WRONG_KEY)
      await ask({}, as(ALICE))
      upstreams[0]!.script(answers('I am p0'))
      expect(contentOf(await ask({}, as(ALICE)))).toBe('I am p0')
      upstreams[0]!.script(WRONG_KEY)
      await ask({}, as(BOB))
      upstreams[0]!.script(answers('I am p0'))
      await ask({}, as(BOB))
    }
    expect(told('route-misconfigured')).toEqual([])
  })

  it('is misconfigured for a single account if all its calls in ten minutes failed this way', async () => {
    const { ask, upstreams } = await start()
    upstreams[0]!.script(WRONG_KEY)
    await ask()
    await clock.elapse(599_999)
    await ask()
    expect(stateOf()).toMatchObject({ state: 'closed' })
    await clock.elapse(1)
    await ask()
    expect(stateOf()).toMatchObject({ state: 'misconfigured' })
  })

  it('is not misconfigured for a single account if a call in the ten minutes ended in another way', async () => {
    const { ask, upstreams } = await start()
    upstreams[0]!.script(WRONG_KEY)
    await ask()
    await clock.elapse(300_000)
    upstreams[0]!.scriptOnce(fails(400))
    await ask()
    await clock.elapse(599_999)
    await ask()
    expect(stateOf()).toMatchObject({ state: 'closed' })
    await clock.elapse(1)
    await ask()
    expect(stateOf()).toMatchObject({ state: 'misconfigured' })
  })

  it('still gets every call as the only route, and its callers learn nothing about the key', async () => {
    const { ask } = await start({ routes: [{}] })
    await misconfigure()
    for (let call = 0; call < 20; call++) {
      const answer = await ask()
      expect([answer.status, errorOf(answer).code]).toEqual([502, 'provider_auth_failed'])
      expect(errorOf(answer).message).toBe('The provider of this model refused this service.')
    }
    expect(counts()).toEqual([22])
    service.upstreams[0]!.script(answers('I am back'))
    expect(contentOf(await ask())).toBe('I am back')
  })

  it('is still tried after the routes that failed', async () => {
    const { ask, upstreams } = await start()
    await misconfigure()
    upstreams[1]!.script(fails(500))
    upstreams[0]!.script(answers('I am p0'))
    expect(contentOf(await ask())).toBe('I am p0')
  })
})

describe('a misconfigured route', () => {
  it('is probed by one real call after 30 seconds, then after twice the time, up to ten minutes', async () => {
    const { ask } = await start()
    await misconfigure()
    let probes = 2
    for (const seconds of [30, 60, 120, 240, 480, 600, 600]) {
      await clock.elapse(seconds * 1_000 - 1)
      expect(contentOf(await ask())).toBe('I am p1')
      expect(counts()[0], `before ${seconds} s`).toBe(probes)
      await clock.elapse(1)
      for (let call = 0; call < 3; call++) expect(contentOf(await ask())).toBe('I am p1')
      expect(counts()[0], `after ${seconds} s`).toBe(++probes)
    }
    expect(told('route-misconfigured')).toHaveLength(1)
  })

  it("is probed by the next call if the probe's account could not pay or its request was refused", async () => {
    const ledger = memoryLedger({ alice: '100', bob: '100' })
    let grants = true
    const { ask, upstreams } = await start({
      router: {
        ledger: {
          ...ledger,
          hold: (request, context) =>
            grants
              ? ledger.hold(request, context)
              : { ok: false, reason: 'insufficient', available: 0n, posted: 0n },
        },
      },
    })
    await misconfigure()
    await clock.elapse(30_000)
    grants = false
    expect((await ask()).status).toBe(402)
    grants = true
    upstreams[0]!.scriptOnce(fails(400))
    expect((await ask()).status).toBe(400)
    upstreams[0]!.script(answers('I am p0'))
    expect(contentOf(await ask())).toBe('I am p0')
  })

  it('is used again after a success, which is reported', async () => {
    const { ask, upstreams } = await start()
    await misconfigure()
    await clock.elapse(30_000)
    upstreams[0]!.script(answers('I am p0'))
    for (let call = 0; call < 3; call++) expect(contentOf(await ask())).toBe('I am p0')
    expect(stateOf()).toMatchObject({ state: 'closed' })
    expect(stateOf()).not.toHaveProperty('flaw')
    expect(told('route-restored')).toEqual([
      {
        type: 'route-restored',
        routeId: P0,
        provider: 'p0',
        model: MODEL,
        why: 'a call succeeded',
        afterMs: 30_000,
      },
    ])
  })

  it('is used again from the first token of a stream on', async () => {
    const { ask, upstreams, url } = await start()
    await misconfigure()
    await clock.elapse(30_000)
    const { promise: mayEnd, resolve: letEnd } = createDeferred()
    upstreams[0]!.scriptOnce(async (reply) => {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(sse([textChunk('Once upon')]))
      await mayEnd
      await reply.write(`${sse([finishChunk()])}data: [DONE]\n\n`)
      reply.end()
    })
    upstreams[0]!.script(answers('I am p0'))
    const probe = new ChatClient({
      url: `${url}/chat/completions`,
      headers: as(ALICE),
      body: { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], stream: true },
    })
    await probe.receives('Once upon')
    expect(contentOf(await ask({}, as(BOB)))).toBe('I am p0')
    letEnd()
    await probe.over
  })

  it('is not restored by a call that started before its provider refused anything', async () => {
    const { upstreams, url } = await start()
    const { promise: mayEnd, resolve: letEnd } = createDeferred()
    upstreams[0]!.scriptOnce(async (reply) => {
      await mayEnd
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(`${sse([textChunk('Once upon'), finishChunk()])}data: [DONE]\n\n`)
      reply.end()
    })
    const dialled = upstreams[0]!.nextRequest()
    const long = new ChatClient({
      url: `${url}/chat/completions`,
      headers: as(ALICE),
      body: { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], stream: true },
    })
    await dialled
    await misconfigure()
    letEnd()
    await long.over
    expect(long.text).toContain('[DONE]')
    expect(stateOf()).toMatchObject({ state: 'misconfigured' })
  })
})

describe('a misconfigured route that its host edits', () => {
  /** A service whose registry answers with the present routes. */
  async function startWithRegistry(edit: (route: Route) => Route | undefined) {
    let isEdited = false
    await start({
      routes: [{ secret: createSecret('key-1-of-p0') }, {}],
      registry: (registry) => ({
        routes: async (model, context) => {
          const found = await registry.routes(model, context)
          if (!isEdited) return found
          return found.flatMap((route) => (route.id === P0 ? (edit(route) ?? []) : route))
        },
      }),
    })
    await misconfigure()
    expect(stateOf()).toMatchObject({ state: 'misconfigured' })
    isEdited = true
  }

  it.each<[string, (route: Route) => Route | undefined]>([
    ['a new key', (route) => ({ ...route, secret: createSecret('key-2-of-p0') })],
    ['another name of the model', (route) => ({ ...route, upstreamModel: 'right-name' })],
    ['another adapter', (route) => ({ ...route, adapter: { ...route.adapter } })],
  ])('is used again at once: %s', async (_, edit) => {
    await startWithRegistry(edit)
    service.upstreams[0]!.script(answers('I am p0'))
    expect(contentOf(await service.ask())).toBe('I am p0')
    expect(told('route-restored')).toMatchObject([{ routeId: P0, why: 'the route was changed' }])
  })

  it.each<[string, (route: Route) => Route | undefined]>([
    ['disabled', (route) => ({ ...route, enabled: false })],
    ['removed', () => undefined],
  ])('is no longer reported if it was %s', async (_, edit) => {
    await startWithRegistry(edit)
    expect(contentOf(await service.ask())).toBe('I am p1')
    expect(told('route-restored')).toMatchObject([{ routeId: P0, why: 'the route was changed' }])
    expect(stateOf()).toMatchObject({ state: 'closed' })
  })

  it('stays misconfigured if it is only read again', async () => {
    await startWithRegistry((route) => ({ ...route, secret: createSecret('key-1-of-p0') }))
    expect(contentOf(await service.ask())).toBe('I am p1')
    expect(stateOf()).toMatchObject({ state: 'misconfigured' })
  })
})

describe('a route is misconfigured if the answer shows a mistake of the host', () => {
  it.each<[string, Script, string]>([
    ['401 without words', answerJson('', 401), 'key'],
    ['402', refuses(402, { message: 'Insufficient Balance' }), 'credit'],
    ['402 that asks a small call for less', refuses(402, { message: 'Use fewer max_tokens.' }), 'credit'],
    ['403 about the key', refuses(403, { message: 'Your API key has no permission.' }), 'key'],
    ['403 with a code about it', refuses(403, { type: 'permission_error', message: 'No.' }), 'key'],
    [
      '403 about the account',
      refuses(403, { message: 'Your organization was disabled for violating our usage policies.' }),
      'key',
    ],
    ['404 that names the model', NO_MODEL, 'model'],
    ['404 in words alone', refuses(404, { message: 'model: claude-gone' }), 'model'],
    [
      '404 that names the deployment',
      refuses(404, { code: 'DeploymentNotFound', message: 'It does not exist.' }),
      'model',
    ],
    [
      '429 insufficient_quota',
      refuses(429, { code: 'insufficient_quota', message: 'You exceeded your current quota.' }),
      'credit',
    ],
    ['400 of DeepSeek', refuses(400, { message: 'Model Not Exist', type: 'invalid_request_error' }), 'model'],
    [
      '400 of Mistral',
      answerJson({ message: 'Invalid model: gone', type: 'invalid_model', code: '1500' }, 400),
      'model',
    ],
    [
      '400 of OpenRouter',
      refuses(400, { message: `${UPSTREAM_MODEL} is not a valid model ID`, code: 400 }),
      'model',
    ],
    ['400 with the code for it', refuses(400, { message: 'No.', code: 'model_not_found' }), 'model'],
    [
      '400 about the key',
      refuses(400, { message: 'API key not valid. Please pass a valid API key.' }),
      'key',
    ],
  ])('%s', async (_, script, flaw) => {
    await start()
    await misconfigure(script, { max_tokens: 100 })
    expect(stateOf()).toMatchObject({ state: 'misconfigured', flaw })
    expect(told('route-misconfigured')).toMatchObject([{ flaw }])
  })

  it('inside a reply with status 200', async () => {
    await start()
    await misconfigure([
      { head: 200, headers: { 'content-type': 'application/json' } },
      { write: JSON.stringify({ error: { message: 'Insufficient credits', code: 402 } }) },
      'end',
    ])
    expect(stateOf()).toMatchObject({ state: 'misconfigured', flaw: 'credit' })
  })
})

describe('a route is not misconfigured by an answer that the call may have caused', () => {
  it.each<[string, Script, object?]>([
    ['401 about content', refuses(401, { code: 'content_filter', message: 'No.' })],
    ['402 about content', refuses(402, { message: 'Your prompt was flagged.' })],
    [
      '403 about content',
      refuses(403, { message: 'Your input violates our usage policy, and your account.' }),
    ],
    ['403 without words', answerJson('<html>Forbidden</html>', 403)],
    ['403 about the request', refuses(403, { message: 'Access denied: your prompt names a project.' })],
    ['404 without words', answerJson('', 404)],
    ['404 about something else', refuses(404, { message: 'No endpoints found that support tool use.' })],
    [
      '402 that asks a large call for less',
      refuses(402, { message: 'Use fewer max_tokens.' }),
      { max_tokens: 1_000 },
    ],
    [
      '402 that asks a call without a bound for less',
      refuses(402, { message: 'You can only afford 12 max_tokens.' }),
    ],
    ['429', fails(429)],
    ['400', fails(400)],
    ['500', fails(500)],
  ])('%s', async (_, script, body = {}) => {
    await start()
    for (let round = 0; round < 3; round++) await misconfigure(script, body)
    expect(stateOf()).not.toMatchObject({ state: 'misconfigured' })
    expect(told('route-misconfigured')).toEqual([])
  })

  it.each(['file_id', 'cached_content', 'previous_response_id'])(
    'such as a 404 if the request has %s',
    async (name) => {
      await start({ model: { supportedParameters: ['max_tokens', name] } })
      for (let round = 0; round < 3; round++) await misconfigure(NO_MODEL, { [name]: 'thing-1' })
      expect(counts()[0]).toBe(6)
      expect(told('route-misconfigured')).toEqual([])
    },
  )

  it("such as a 401 for a caller's key", async () => {
    const envelopes = keyring([await generateEnvelopeKey('2026-11')])
    await start({ routes: [{ apiKey: 'host-key-of-p0', byok: 'yes' }, {}], router: { envelopes } })
    service.upstreams[0]!.script(WRONG_KEY)
    for (const [token, account] of [
      [ALICE, 'alice'],
      [BOB, 'bob'],
      [ALICE, 'alice'],
    ] as const) {
      const sealed = await sealProviderKey(
        { key: 'sk-callers-own-0123456789', provider: 'p0', account },
        envelopes.publicKeys().keys[0]!,
      )
      const answer = await service.ask({ provider: 'p0', provider_key: sealed }, as(token))
      expect(errorOf(answer).code).toBe('provider_key_rejected')
    }
    expect(service.router.routes()).toEqual([])
    expect(told('route-misconfigured')).toEqual([])
  })

  it('such as an error after the first token', async () => {
    const { ask, upstreams } = await start()
    upstreams[0]!.script([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('Once'), { error: { message: 'Insufficient credits', code: 402 } }]) },
      'end',
    ])
    for (const token of [ALICE, BOB, ALICE]) await ask({ stream: true }, as(token))
    expect(told('route-misconfigured')).toEqual([])
  })
})

describe('a host without a listener', () => {
  it('sees a line when a route becomes misconfigured and when it is used again, even if a fallback saves each call', async () => {
    const lines: string[] = []
    const print = printFailures(
      (line) => lines.push(line),
      () => clock.now(),
    )
    // Without a listener, the ends of requests that succeeded are not printed.
    const { ask, upstreams } = await start({
      router: { onEvent: (event) => event.type !== 'request-end' && print(event) },
    })
    await misconfigure()
    for (let call = 0; call < 10; call++) await ask()
    expect(lines).toEqual([
      expect.stringMatching(
        /^compat-router: a provider refuses the settings of a route \(p0:acme\/fast\): The provider refuses the key of this route\. .*Incorrect API key provided\. \[call-2\]/,
      ),
    ])
    await clock.elapse(30_000)
    upstreams[0]!.script(answers('I am p0'))
    await ask()
    expect(lines.slice(1)).toEqual([
      'compat-router: a misconfigured route is used again (p0:acme/fast): a call succeeded',
    ])
  })
})
