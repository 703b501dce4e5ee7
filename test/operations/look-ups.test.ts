import { OpenRouter } from '@openrouter/sdk'
import { afterEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import {
  memoryCalls,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
  parseCredits,
  type RouterOptions,
} from '../../src/index.js'
import type { Limit, MemoryCredential } from '../../src/stores.js'
import { createDeferred } from '../helpers/deferred.js'
import { answerEvents, answerJson, finishChunk, sse, textChunk } from '../helpers/scripted-upstream.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  ask,
  BASE_COST,
  COUNTS,
  MARKED_UP_COST,
  MARKUP,
  MARKUP_COST,
  MODEL,
  providerReply,
  tokens,
  UPSTREAM_KEY,
  usageChunk,
  WireService,
} from '../wire/service.js'

let service: WireService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

// biome-ignore lint/suspicious/noExplicitAny: the body of a reply
type Json = any

async function look(path: string, token = API_KEY): Promise<{ status: number; data: Json; error: Json }> {
  const response = await service!.get(path, token)
  const { data, error } = (await response.json()) as { data: Json; error: Json }
  return { status: response.status, data, error }
}

/** The id of a stream. */
const idOf = (stream: string): string => /"id":"([^"]+)"/.exec(stream)![1]!

/** Makes a call that is charged. Returns the ids by which it can be looked up. */
async function chat(
  more: object = {},
  token = API_KEY,
): Promise<{ id: string; requestId: string; body: Json }> {
  service!.upstream.script(answerJson(providerReply()))
  const response = await service!.post(ask({ ...more }), { authorization: `Bearer ${token}` })
  const body = (await response.json()) as Json
  expect(response.status).toBe(200)
  return { id: body.id, requestId: String(response.headers['x-request-id']), body }
}

const BUDGET: Limit = { id: 'budget', unit: 'credits', amount: parseCredits('0.02'), per: 'month' }
const RATE: Limit = { id: 'rate', unit: 'requests', amount: 60n, per: 'minute' }
const SHARED: Limit = { id: 'team', unit: 'credits', amount: parseCredits('0.5'), per: 'day', of: 'account' }
const APP = { id: 'notes', name: 'Notes', markup: MARKUP, allowedModels: [MODEL] }
const KEY = 'sk-look-ups'
const TOKEN = 'at-look-ups'
const READING_TOKEN = 'at-look-ups-reading'
const BOUNDED_TOKEN = 'at-look-ups-bounded'

function withCredentials(given: Readonly<Record<string, MemoryCredential>>) {
  return (options: RouterOptions): Partial<RouterOptions> => ({
    credentials: memoryCredentials(
      { [API_KEY]: { kind: 'api-key', account: 'alice', credentialId: 'other-key' }, ...given },
      options.clock === undefined ? {} : { clock: options.clock },
    ),
  })
}

const token = (more: object = {}): MemoryCredential => ({
  kind: 'access-token',
  account: 'alice',
  scopes: ['models.run'],
  app: APP,
  ...more,
})

describe('GET /key', () => {
  it('shows what a key may do, what it has spent, and what is left of its limits', async () => {
    const expiresAt = 1_700_000_000_000 + 86_400_000
    service = await WireService.start({
      router: withCredentials({
        [KEY]: {
          kind: 'api-key',
          account: 'alice',
          credentialId: 'key-1',
          label: 'Notebook',
          allowedModels: [MODEL],
          expiresAt,
          limits: [RATE, SHARED, BUDGET],
        },
      }),
    })
    await chat({}, KEY)
    await chat({}, API_KEY)
    const { data, status } = await look('/key', KEY)
    expect(status).toBe(200)
    expect(data).toMatchObject({
      label: 'Notebook',
      usage: Number(BASE_COST),
      usage_daily: Number(BASE_COST),
      usage_weekly: Number(BASE_COST),
      usage_monthly: Number(BASE_COST),
      limit: 0.02,
      limit_remaining: 0.019826,
      limit_reset: 'monthly',
      expires_at: new Date(expiresAt).toISOString(),
      rate_limit: { requests: 60, interval: 'minute' },
      kind: 'api-key',
      credential_id: 'key-1',
      account: 'alice',
      app: null,
      scopes: null,
      models: [MODEL],
      spent: { total: BASE_COST, today: BASE_COST, week: BASE_COST, month: BASE_COST },
    })
    expect(data.limits).toEqual([
      {
        of: 'credential',
        unit: 'requests',
        per: 'minute',
        zone: null,
        resets_at: '2023-11-14T22:14:00.000Z',
        amount: '60',
        used: '1',
        held: '0',
        left: '59',
      },
      { of: 'account', unit: 'credits', per: 'day', zone: null, resets_at: '2023-11-15T00:00:00.000Z' },
      {
        of: 'credential',
        unit: 'credits',
        per: 'month',
        zone: null,
        resets_at: '2023-12-01T00:00:00.000Z',
        amount: '0.02',
        used: BASE_COST,
        held: '0',
        left: '0.019826',
      },
    ])
  })

  it('shows an app its own rights, but not whose account it uses', async () => {
    service = await WireService.start()
    await chat({}, ACCESS_TOKEN)
    const { data } = await look('/key', ACCESS_TOKEN)
    expect(data).toMatchObject({
      label: 'app-1',
      kind: 'access-token',
      account: null,
      app: { id: 'app-1', name: null },
      scopes: ['models.run'],
      models: [MODEL],
      spent: { total: MARKED_UP_COST },
      limit: null,
      limits: [],
    })
    expect(JSON.stringify(data)).not.toContain('bob')
  })

  it("counts the periods from each day's charges", async () => {
    service = await WireService.start()
    await chat()
    // From Tuesday 14 November to Monday 20 November, and on to December.
    await service.clock.elapse(6 * 86_400_000)
    await chat()
    const sums = async () => (await look('/key')).data.spent
    const [once, twice] = [BASE_COST, '0.000348']
    expect(await sums()).toEqual({ total: twice, today: once, week: once, month: twice })
    await service.clock.elapse(86_400_000)
    expect(await sums()).toEqual({ total: twice, today: '0', week: once, month: twice })
    await service.clock.elapse(14 * 86_400_000)
    expect(await sums()).toEqual({ total: twice, today: '0', week: '0', month: '0' })
  })
})

describe('GET /credits', () => {
  it("shows the account's credit, including what running calls hold", async () => {
    service = await WireService.start()
    await chat()
    const gate = createDeferred()
    service.upstream.script([{ head: 200 }, { wait: gate.promise }, 'end'])
    const running = service.post(ask())
    await service.upstream.nextRequest()
    const held = await service.held('alice')
    const { data } = await look('/credits')
    expect(held).toBeGreaterThan(0n)
    expect(data).toEqual({
      total_credits: 1,
      total_usage: Number(BASE_COST),
      of: 'account',
      granted: '1',
      spent: BASE_COST,
      held: expect.stringMatching(/^0\.0/),
      available: expect.stringMatching(/^0\.9/),
    })
    const [granted, spent, onHold, available] = ['granted', 'spent', 'held', 'available'].map((name) =>
      parseCredits(data[name]),
    )
    expect(onHold).toBe(held)
    expect(available).toBe(granted! - spent! - onHold!)
    gate.resolve()
    await running
  })

  it('shows an app the account only with the scope credits.read, and otherwise its own budget', async () => {
    service = await WireService.start({
      router: withCredentials({
        [TOKEN]: token(),
        [READING_TOKEN]: token({ scopes: ['models.run', 'credits.read'], credentialId: 'reading' }),
        [BOUNDED_TOKEN]: token({ credentialId: 'bounded', limits: [{ ...BUDGET, per: 'total' }, SHARED] }),
      }),
    })
    await chat({}, BOUNDED_TOKEN)
    expect((await look('/credits', READING_TOKEN)).data).toMatchObject({
      of: 'account',
      granted: '1',
      spent: MARKED_UP_COST,
    })
    expect((await look('/credits', BOUNDED_TOKEN)).data).toEqual({
      total_credits: 0.02,
      total_usage: Number(MARKED_UP_COST),
      of: 'credential',
      granted: '0.02',
      spent: MARKED_UP_COST,
      held: '0',
      available: '0.019268005',
    })
    const response = await service.get('/credits', TOKEN)
    expect(response.status).toBe(403)
    expect(response.headers['www-authenticate']).toContain('scope="credits.read"')
    expect(await response.json()).toMatchObject({
      error: { code: 'insufficient_scope', message: expect.stringContaining('credits.read') },
    })
  })
})

describe('GET /generation', () => {
  it('finds a call by its reply id and by its request id, with the figures of the reply', async () => {
    service = await WireService.start()
    const { body, id, requestId } = await chat({ user: 'u-1', session_id: 's-1' }, ACCESS_TOKEN)
    for (const name of [id, requestId]) {
      const { data, status } = await look(`/generation?id=${name}`, ACCESS_TOKEN)
      expect(status).toBe(200)
      expect(data).toMatchObject({
        id,
        request_id: requestId,
        upstream_id: 'chatcmpl-of-the-provider',
        model: MODEL,
        provider_name: 'p0',
        api_type: 'completions',
        created_at: new Date(service.clock.now()).toISOString(),
        total_cost: body.usage.cost,
        usage: body.usage.cost,
        is_byok: false,
        tokens_prompt: COUNTS.prompt_tokens,
        tokens_completion: COUNTS.completion_tokens,
        native_tokens_cached: 4,
        native_tokens_reasoning: 0,
        finish_reason: 'stop',
        streamed: false,
        cancelled: false,
        session_id: 's-1',
        external_user: 'u-1',
        pending: false,
        operation: 'chat',
        outcome: 'completed',
        status: 200,
        app: 'app-1',
        cost: MARKED_UP_COST,
        base_cost: BASE_COST,
        markup_cost: MARKUP_COST,
        basis: 'reported',
        refunded: '0',
      })
    }
  })

  it('shows a stream as pending until it is charged', async () => {
    service = await WireService.start()
    const gate = createDeferred()
    service.upstream.script([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('Hello')]) },
      { wait: gate.promise },
      { write: sse([finishChunk(), usageChunk()]) },
      'end',
    ])
    const response = await service.post(ask({ stream: true }), { 'x-request-id': 'stream-1' })
    const chunks = response.body[Symbol.asyncIterator]()
    const id = idOf(String((await chunks.next()).value))
    for (const name of [id, 'stream-1']) {
      const { data } = await look(`/generation?id=${name}`)
      expect(data).toMatchObject({ pending: true, model: MODEL, total_cost: 0, cost: null, outcome: null })
    }
    gate.resolve()
    while ((await chunks.next()).done !== true);
    expect((await look(`/generation?id=${id}`)).data).toMatchObject({
      pending: false,
      streamed: true,
      outcome: 'completed',
      cost: BASE_COST,
    })
  })

  it('shows a call as pending while the ledger does not confirm its charge', async () => {
    const ledger = { ...memoryLedger({ alice: '1' }), settle: () => new Promise<never>(() => {}) }
    service = await WireService.start({
      router: () => ({ ledger }),
      timeouts: { settleWaitMs: 10, settleMs: 100, storeMs: 50 },
      expectsFaults: true,
    })
    service.upstream.script(answerJson(providerReply()))
    const asked = service.post(ask())
    await service.upstream.nextRequest()
    await expect.poll(() => service!.clock.elapse(10).then(() => service!.router.inFlight)).toBe(0)
    const { id } = (await (await asked).json()) as { id: string }
    expect((await look(`/generation?id=${id}`)).data).toMatchObject({
      pending: true,
      cost: BASE_COST,
      total_cost: Number(BASE_COST),
      outcome: null,
    })
    // Given up, the charge is still not posted: the hold is open, then it has expired.
    await service.clock.elapse(1_000)
    await service.event('charge-failed')
    expect((await look(`/generation?id=${id}`)).data).toMatchObject({ pending: true, cost: BASE_COST })
    await service.clock.elapse(3_600_000)
    expect((await look(`/generation?id=${id}`)).data).toMatchObject({ pending: true, cost: BASE_COST })
  })

  it('shows that a failed call cost nothing', async () => {
    service = await WireService.start()
    service.upstream.script([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('Hello')]) },
      'reset',
    ])
    const response = await service.post(ask({ stream: true }))
    const id = idOf(await response.text())
    expect((await look(`/generation?id=${id}`)).data).toMatchObject({
      pending: false,
      outcome: 'provider_error',
      cost: '0',
      total_cost: 0,
    })
  })

  it('shows a refused request by its request id', async () => {
    service = await WireService.start()
    const refused = await service.post(ask({ model: 'acme/none' }), { 'x-request-id': 'refused-1' })
    expect(refused.status).toBe(404)
    expect((await look('/generation?id=refused-1')).data).toMatchObject({
      request_id: 'refused-1',
      model: 'acme/none',
      outcome: 'model_not_found',
      status: 404,
      cost: '0',
    })
  })

  it('finds nothing of another account, nothing of other credentials for an app, and no id of another operation', async () => {
    service = await WireService.start({
      router: withCredentials({ [TOKEN]: token(), 'sk-mallory': { kind: 'api-key', account: 'mallory' } }),
    })
    const { id, requestId } = await chat()
    for (const [name, credential] of [
      [id, 'sk-mallory'],
      [requestId, 'sk-mallory'],
      [id, TOKEN],
      [requestId, TOKEN],
      [id.replace('chatcmpl-', 'resp_'), API_KEY],
      [`${id}-2`, API_KEY],
      ['chatcmpl-none', API_KEY],
    ]) {
      const { error, status } = await look(`/generation?id=${name}`, credential)
      expect([status, error.code, error.param]).toEqual([404, 'not_found', 'id'])
    }
    const { error, status } = await look('/generation')
    expect([status, error.code, error.param]).toEqual([400, 'invalid_request', 'id'])
    expect((await look(`/generation?id=${'x'.repeat(257)}`)).status).toBe(400)
  })

  it('shows no call of another account, whatever the stores return', async () => {
    const calls = memoryCalls()
    const ledger = memoryLedger({ alice: '1' })
    service = await WireService.start({
      router: (options) => ({
        ...withCredentials({ 'sk-mallory': { kind: 'api-key', account: 'mallory' } })(options),
        calls: { ...calls, find: (_account, id) => calls.find('alice', id) },
        ledger: {
          ...ledger,
          findCall: ({ holdIds }, context) => ledger.findCall({ account: 'alice', holdIds }, context),
        },
      }),
    })
    const { id, requestId } = await chat()
    for (const name of [id, requestId]) {
      expect((await look(`/generation?id=${name}`)).status).toBe(200)
      expect((await look(`/generation?id=${name}`, 'sk-mallory')).status).toBe(404)
    }
  })

  it('shows the running call if its request id equals that of an earlier one', async () => {
    service = await WireService.start()
    const sameId = { 'x-request-id': 'again' }
    expect((await service.post(ask({ model: 'acme/none' }), sameId)).status).toBe(404)
    await service.clock.elapse(1_000)
    const gate = createDeferred()
    service.upstream.script([{ head: 200 }, { wait: gate.promise }, 'end'])
    const running = service.post(ask(), sameId)
    await service.upstream.nextRequest()
    expect((await look('/generation?id=again')).data).toMatchObject({ pending: true, model: MODEL })
    gate.resolve()
    await running
    expect((await look('/generation?id=again')).data).toMatchObject({ pending: false, model: MODEL })
  })

  it('shows the charge of a call that fell back to a more expensive route, with a larger hold', async () => {
    const adapters: ProviderAdapter[] = []
    const dearer = { input: '20', cachedInput: '10', output: '80', request: '0.001' }
    service = await WireService.start({
      providers: 2,
      adapter: (baseUrl) => {
        const adapter = openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY })
        adapters.push(adapter)
        return adapter
      },
      router: () => ({
        providers: memoryProviders([
          { id: 'cheap', models: { [MODEL]: 'm' }, adapter: adapters[0]! },
          { id: 'dear', models: { [MODEL]: 'm' }, adapter: adapters[1]!, prices: dearer },
        ]),
      }),
    })
    service.upstreams[0]!.script(answerJson({ error: { message: 'down' } }, 503))
    service.upstreams[1]!.script(answerJson(providerReply()))
    const { id } = (await (await service.post(ask())).json()) as { id: string }
    const { data } = await look(`/generation?id=${id}`)
    expect(data).toMatchObject({ pending: false, provider_name: 'dear', cost: '0.00174' })
    expect((await service.event('request-end')).holdId).toBe(`${id.slice('chatcmpl-'.length)}-2`)
  })
})

describe('all look-ups (key, credits, generation)', () => {
  it('return what the OpenRouter SDK reads', async () => {
    service = await WireService.start({
      router: withCredentials({
        [KEY]: { kind: 'api-key', account: 'alice', limits: [BUDGET, RATE] },
      }),
    })
    const { host, upstream } = service
    const client = new OpenRouter({ apiKey: KEY, serverURL: host.baseUrl })
    const { id, requestId } = await chat({}, KEY)
    const key = await client.apiKeys.getCurrentKeyMetadata({})
    expect(key.data).toMatchObject({ limit: 0.02, limitReset: 'monthly', usage: Number(BASE_COST) })
    const credits = await client.credits.getCredits({})
    expect(credits.data).toEqual({ totalCredits: 1, totalUsage: Number(BASE_COST) })
    for (const name of [id, requestId]) {
      const generation = await client.generations.getGeneration({ id: name })
      expect(generation.data).toMatchObject({
        id,
        model: MODEL,
        totalCost: Number(BASE_COST),
        finishReason: 'stop',
        tokensPrompt: COUNTS.prompt_tokens,
      })
    }
    const gate = createDeferred()
    upstream.script([{ head: 200 }, { wait: gate.promise }, 'end'])
    const running = service.post(ask(), { authorization: `Bearer ${KEY}`, 'x-request-id': 'running-1' })
    await upstream.nextRequest()
    expect((await client.generations.getGeneration({ id: 'running-1' })).data).toMatchObject({ totalCost: 0 })
    gate.resolve()
    await running
    await expect(client.generations.getGeneration({ id: 'none' })).rejects.toMatchObject({ statusCode: 404 })
  })

  it('need a credential, cost nothing and emit their own events', async () => {
    service = await WireService.start()
    const { id } = await chat()
    const paths = ['/key', '/credits', `/generation?id=${id}`]
    for (const path of paths) {
      expect((await service.host.request(path)).status).toBe(401)
      expect((await look(path, tokens.revoked)).status).toBe(401)
      expect((await look(path)).status).toBe(200)
    }
    expect(await service.posted('alice')).toBe(parseCredits('1') - parseCredits(BASE_COST))
    const operations = service.events.flatMap((event) =>
      event.type === 'request-end' ? [event.operation] : [],
    )
    expect(new Set(operations)).toEqual(new Set(['chat', 'get-key', 'get-credits', 'get-generation']))
  })

  it('do not exist without a ledger that supports them', async () => {
    const { balance, expireHolds, hold, release, settle } = memoryLedger()
    service = await WireService.start({
      router: () => ({ ledger: { balance, expireHolds, hold, release, settle } }),
    })
    for (const path of ['/key', '/credits', '/generation?id=x']) expect((await look(path)).status).toBe(404)
  })

  it('are 503 if the ledger does not answer, and 500 if its answer cannot be read', async () => {
    const whole = memoryLedger({ alice: '1' })
    const answers = { spent: async (): Promise<Json> => ({}), limitCounts: async (): Promise<Json> => [] }
    service = await WireService.start({
      router: (options) => ({
        ...withCredentials({ [KEY]: { kind: 'api-key', account: 'alice', limits: [RATE] } })(options),
        ledger: { ...whole, ...answers, findCall: () => Promise.reject(new Error('gone')) },
      }),
      expectsFaults: true,
    })
    const { id } = await chat()
    expect((await look(`/generation?id=${id}`)).error.code).toBe('ledger_unavailable')
    expect((await look('/credits')).error.code).toBe('internal_error')
    answers.spent = whole.spent as never
    expect((await look('/key', KEY)).error.code).toBe('internal_error')
  })

  it('find calls even without a store of how calls ended', async () => {
    service = await WireService.start({
      router: () => ({
        calls: {
          record: () => {},
          find: () => Promise.reject(new Error('gone')),
          list: () => Promise.reject(new Error('gone')),
        },
      }),
      expectsFaults: true,
    })
    service.upstream.script(answerEvents([textChunk('Hi'), finishChunk(), usageChunk()]))
    const text = await (await service.post(ask({ stream: true }))).text()
    const id = idOf(text)
    expect((await look(`/generation?id=${id}`)).data).toMatchObject({
      id,
      operation: 'chat',
      pending: false,
      cost: BASE_COST,
      outcome: null,
      latency: null,
    })
    expect((await look('/generation?id=none')).error.code).toBe('overloaded')
    expect(await service.event('store-fault')).toMatchObject({ store: 'calls' })
  })
})
