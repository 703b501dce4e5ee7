import { describe, expect, it, onTestFinished } from 'vitest'
import { formatCredits, type KeptCall, memoryCalls } from '../../src/index.js'
import type { CallStore, DroppedCalls } from '../../src/stores.js'
import { createDeferred } from '../helpers/deferred.js'
import type { HostResponse } from '../helpers/listen-http.js'
import {
  API_KEY,
  ask,
  BASE_COST,
  COUNTS,
  framesOf,
  MODEL,
  providerReply,
  type ServiceOptions,
  tokens,
  usageChunk,
  WireService,
} from '../wire/service.js'

const PROMPT = 'A prompt that nobody keeps.'
const REPLY = 'A reply that nobody keeps.'
const JSON_TYPE = { 'content-type': 'application/json' }
const CHAT = { model: MODEL, messages: [{ role: 'user', content: PROMPT }], max_tokens: 50 }

async function start(calls: CallStore = memoryCalls(), options: ServiceOptions = {}) {
  const service = await WireService.start({ ...options, router: () => ({ calls }) })
  onTestFinished(() => service.close())
  service.upstream.script([
    { head: 200, headers: JSON_TYPE },
    {
      write: JSON.stringify(
        providerReply({
          choices: [{ index: 0, message: { role: 'assistant', content: REPLY }, finish_reason: 'stop' }],
        }),
      ),
    },
    'end',
  ])
  return { service, calls }
}

/** The newest kept call, once there is one of this request. */
async function keptOf(service: WireService, calls: CallStore, { headers }: HostResponse): Promise<KeptCall> {
  const requestId = String(headers['x-request-id'])
  await service.event('request-end', requestId)
  const kept = await calls.find(undefined, requestId)
  return kept!
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? member.toString() : member))
}

describe('a record of how a call ended is kept', () => {
  it('under the id of its reply, with its charge, route, times and finish reason, but never its content', async () => {
    const { service, calls } = await start()
    const response = await service.post({ ...CHAT, user: 'end-user', action: { prompt: PROMPT } })
    const body = (await response.json()) as { id: string }
    await service.event('request-end')
    const kept = await calls.find('alice', body.id)
    expect(kept).toMatchObject({
      id: body.id,
      operation: 'chat',
      outcome: 'completed',
      status: 200,
      stream: false,
      facts: {
        account: 'alice',
        model: MODEL,
        provider: 'p0',
        routeId: `p0:${MODEL}`,
        completionId: body.id,
      },
      charge: { basis: 'reported', usage: { prompt: COUNTS.prompt_tokens, completion: 7 } },
      routing: { chosenBy: 'only-route', attempts: [{ outcome: 'finished' }] },
      finishReason: 'stop',
    })
    expect(formatCredits(kept!.charge!.cost)).toBe(BASE_COST)
    expect(await calls.find('bob', body.id)).toBeUndefined()
    const text = textOf(kept)
    for (const secret of [PROMPT, REPLY, API_KEY]) expect(text).not.toContain(secret)
    expect(Object.isFrozen(kept) && Object.isFrozen(kept!.facts) && Object.isFrozen(kept!.charge)).toBe(true)
  })

  it('even if it was streamed or a provider failed', async () => {
    const { service, calls } = await start()
    service.upstream.scriptOnce([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      {
        write: `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: ${JSON.stringify(usageChunk())}\n\ndata: [DONE]\n\n`,
      },
      'end',
    ])
    const streamed = await service.post({ ...CHAT, stream: true })
    const [first] = framesOf(await streamed.text())
    await service.event('request-end', String(streamed.headers['x-request-id']))
    expect(await calls.find('alice', first!.id as string)).toMatchObject({
      stream: true,
      outcome: 'completed',
      firstTokenMs: 0,
    })
    service.upstream.scriptOnce([{ head: 503, headers: JSON_TYPE }, { write: '{}' }, 'end'])
    const failed = await service.post(CHAT)
    await failed.text()
    const kept = await keptOf(service, calls, failed)
    expect(kept).toMatchObject({ status: failed.status, facts: { account: 'alice', provider: 'p0' } })
    expect(kept.routing?.attempts[0]?.why).toContain('503')
    expect(kept.charge).toBeUndefined()
  })

  it.each([
    [
      'an unknown field',
      ask({ frobnicate: 1 }),
      API_KEY,
      { status: 400, field: 'frobnicate', askedModel: undefined },
    ],
    ['an unknown model', ask({ model: 'acme/none' }), API_KEY, { status: 404, askedModel: 'acme/none' }],
    ['a key in the place of the model', ask({ model: API_KEY }), API_KEY, { askedModel: '[secret]' }],
    ['too little credit', ask(), tokens.poor, { outcome: 'insufficient_credits', status: 402 }],
    ['a revoked key', ask(), tokens.revoked, { status: 401, caller: { credentialId: 'revoked-key' } }],
    ['an unknown key', ask(), 'sk-unknown-0123456789', { outcome: 'invalid_api_key', caller: undefined }],
  ])('even if it was refused for %s', async (_, body, token, expected) => {
    const { service, calls } = await start()
    const response = await service.post(body, { authorization: `Bearer ${token}` })
    await response.text()
    const kept = await keptOf(service, calls, response)
    expect(kept).toMatchObject({ operation: 'chat', status: response.status, ...expected })
    expect(textOf(kept)).not.toContain(token)
  })

  it('for a free request only if it was refused', async () => {
    const { service, calls } = await start()
    await service.get('/models')
    await service.get('/models', 'sk-unknown-0123456789')
    expect((await calls.list()).calls).toMatchObject([{ operation: 'list-models', status: 401 }])
  })
})

describe('however many calls end,', () => {
  it('at most 20 a second without a known caller and 100 uncharged of each account are recorded', async () => {
    const { service, calls } = await start()
    const send = async (count: number, body: object, token: string) => {
      for (let call = 0; call < count; call++) {
        await (await service.post(body, { authorization: `Bearer ${token}` })).text()
      }
    }
    await Promise.all([send(15, ask(), 'sk-nobody-1'), send(15, ask(), tokens.revoked)])
    await send(110, ask({ model: 'acme/none' }), API_KEY)
    await send(3, ask(), tokens.poor)
    await send(110, CHAT, API_KEY)
    const count = async (status: number) => (await calls.list({ status, limit: 1_000 })).calls.length
    expect([await count(401), await count(404), await count(402), await count(200)]).toEqual([
      20, 100, 3, 110,
    ])
    await service.clock.elapse(1_000)
    await send(30, ask(), 'sk-nobody-1')
    expect(await count(401)).toBe(40)
  })
})

describe('a store of calls cannot disturb a call', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('broken')
      },
    ],
  ])('if it %s, which is reported', async (_, record) => {
    const { service } = await start(Object.assign(memoryCalls(), { record }), { expectsFaults: true })
    const response = await service.post(CHAT)
    expect(response.status).toBe(200)
    expect(await service.event('store-fault')).toMatchObject({ store: 'calls', error: { message: 'broken' } })
  })

  it('if it drops calls, and an event says how many', async () => {
    const watched = createDeferred<(dropped: DroppedCalls) => void>()
    let isWatched = true
    const store: CallStore = {
      record: () => undefined,
      find: async () => undefined,
      list: async () => ({ calls: [] }),
      watchDropped(listener) {
        watched.resolve(listener)
        return () => {
          isWatched = false
        }
      },
    }
    const service = await WireService.start({ router: () => ({ calls: store }) })
    const drop = await watched.promise
    drop({ count: 7, error: new Error('the disk is full') })
    expect(await service.event('calls-dropped')).toMatchObject({
      count: 7,
      error: { message: 'the disk is full' },
    })
    await service.close()
    expect(isWatched).toBe(false)
  })
})

it('the memory store keeps the latest 1,000 calls', async () => {
  const calls = memoryCalls()
  const call = (number: number): KeptCall => ({
    id: `call-${number}`,
    requestId: `request-${number}`,
    operation: 'chat',
    at: number,
    durationMs: 1,
    outcome: 'completed',
    status: 200,
  })
  for (let number = 0; number < 2_500; number++) calls.record(call(number))
  expect(await calls.find(undefined, 'call-1499')).toBeUndefined()
  expect(await calls.find(undefined, 'call-1500')).toEqual(call(1_500))
  const all = await calls.list({ limit: 1_000 })
  expect([all.calls.length, all.calls[0]!.id, all.next]).toEqual([1_000, 'call-2499', undefined])
  expect(() => memoryCalls({ max: 0 })).toThrow(/^memoryCalls: max must be at least 1; got 0$/)
})
