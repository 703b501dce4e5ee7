import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatCredits } from '../../src/base/money.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import { type Bench, furnish, operator, startBench } from './console-bench.js'

let bench: Bench
let tokens: Awaited<ReturnType<typeof furnish>>
const visit = () => bench.as(operator)

beforeAll(async () => {
  bench = await startBench({
    usage: () => ({ prompt: 30, completion: 7, more: { cached: 10, reasoning: 3 } }),
  })
  tokens = await furnish(bench)
})

afterAll(() => bench.close())

describe('a call in the console', () => {
  it('is explained: its caller, cost, tokens, route, the reasons for them, and its end', async () => {
    await bench.call(
      tokens.aliceNotes,
      { session_id: 's-1', user: 'u-1', action: 'summarise' },
      { 'x-request-id': 'r-1' },
    )
    const { json } = await visit().get<ReplyOf<'entries'>>('api/entries?sessionId=s-1')
    const [entry] = json.entries
    expect(json.entries).toHaveLength(1)
    expect(entry).toMatchObject({
      kind: 'charge',
      postings: [
        { account: 'alice', amount: `-${entry!.charge!.cost}` },
        { account: 'platform', amount: entry!.charge!.base },
        { account: 'dev', amount: entry!.charge!.markup },
      ],
      charge: {
        basis: 'reported',
        byok: false,
        priceVersion: 'v1',
        usage: { prompt: 30, cached: 10, cacheWrite: 0, completion: 7, reasoning: 3 },
      },
      facts: {
        requestId: 'r-1',
        account: 'alice',
        model: 'acme/fast',
        appId: 'notes',
        user: 'u-1',
        routeId: 'r:acme/fast',
      },
      holdId: expect.any(String),
      explanation: {
        outcome: 'completed',
        status: 200,
        startedAt: expect.any(Number),
        durationMs: expect.any(Number),
        holdAmount: expect.stringMatching(/^0\.\d+$/),
        finishReason: 'stop',
        action: 'summarise',
        routing: {
          considered: ['r:acme/fast'],
          excluded: [],
          behind: [],
          chosenBy: 'only-route',
          attempts: [{ routeId: 'r:acme/fast', outcome: expect.any(String) }],
        },
      },
    })
    expect('amount' in entry!).toBe(false)
    const asPayer = await visit().get<ReplyOf<'entries'>>('api/entries?account=alice')
    expect(asPayer.json.entries[0]!.amount).toBe(`-${entry!.charge!.cost}`)
  })

  it('shows its audio and image tokens, in the list, in its CSV and in the sums', async () => {
    const media = { audioInput: 12, audioOutput: 2, imageInput: 5, imageOutput: 1 }
    const heard = await startBench({ usage: () => ({ prompt: 30, completion: 7, more: media }) })
    const { bob } = await furnish(heard)
    await heard.call(bob)
    const { json } = await heard.as(operator).get<ReplyOf<'entries'>>('api/entries?limit=1')
    expect(json.entries[0]!.charge!.usage).toMatchObject({ prompt: 30, completion: 7, ...media })
    const spend = await heard.as(operator).get<ReplyOf<'reports/spend'>>('api/reports/spend?by=day')
    expect(spend.json.total.usage).toMatchObject({ prompt: 30, completion: 7, ...media })
    for (const path of ['entries.csv?model=acme/fast', 'reports/spend.csv?by=model']) {
      const [names, values] = (await heard.as(operator).get(`api/${path}`)).text
        .split('\r\n')
        .map((line) => line.split(','))
      const cell = (name: string) => values![names!.indexOf(name)]
      expect(
        ['audio_input', 'audio_output', 'image_input', 'image_output'].map((kind) => cell(`${kind}_tokens`)),
      ).toEqual(['12', '2', '5', '1'])
    }
    await heard.close()
  })

  it('keeps its entry if the process no longer remembers the call', async () => {
    const { holdId } = bench.events.findLast((event) => event.type === 'request-end')!
    await bench.stores.ledger.settle(
      {
        holdId: 'h-of-another-process',
        charge: {
          cost: 1n,
          base: 1n,
          markup: 0n,
          basis: 'reported',
          byok: false,
          usage: { prompt: 1, cached: 0, cacheWrite: 0, completion: 0, reasoning: 0 },
        },
        postings: [
          { account: 'alice', amount: -1n },
          { account: 'platform', amount: 1n },
        ],
        facts: { requestId: 'r-1', account: 'alice', credentialId: 'c', model: 'acme/fast' },
      },
      { requestId: 'r', signal: new AbortController().signal },
    )
    const { json } = await visit().get<ReplyOf<'entries'>>('api/entries?account=alice&limit=2')
    // The same request id does not make them the same call, since clients choose it.
    expect(json.entries.map((entry) => [entry.holdId, 'explanation' in entry])).toEqual([
      ['h-of-another-process', false],
      [holdId, true],
    ])
  })

  it('is found among the events by its model and by its request id', async () => {
    await bench.call(tokens.bob, {}, { 'x-request-id': 'r-fast' })
    await bench.call(tokens.bob, { model: 'acme/smart' }, { 'x-request-id': 'r-smart' })
    const idsOf = async (query: string) => {
      const { json } = await visit().get<ReplyOf<'events'>>(`api/events?${query}`)
      return json.events.map(({ requestId }) => requestId)
    }
    expect(await idsOf('model=acme/smart')).toEqual(['r-smart'])
    expect((await idsOf('model=acme/fast'))[0]).toBe('r-fast')
    expect(await idsOf('requestId=r-fast')).toEqual(['r-fast'])
  })

  it('without a charge appears as an event: a refusal, and a wrong key', async () => {
    await bench.call(tokens.bob, { model: 'acme/none' }, { 'x-request-id': 'r-none' })
    await bench.call('sk-wrong', {}, { 'x-request-id': 'r-wrong' })
    const { json } = await visit().get<ReplyOf<'events'>>('api/events?problems=true')
    expect(json).toMatchObject({ capacity: 1_000, completedASecond: 100, unauthenticated: 100 })
    expect(json.events.slice(0, 2)).toMatchObject([
      { type: 'request-end', requestId: 'r-wrong', explanation: { outcome: 'invalid_api_key', status: 401 } },
      { type: 'request-end', requestId: 'r-none', explanation: { outcome: 'model_not_found', status: 404 } },
    ])
    expect(json.events.every(({ explanation }) => explanation?.outcome !== 'completed')).toBe(true)
    const all = await visit().get<ReplyOf<'events'>>('api/events')
    expect(all.json.events.length).toBeGreaterThan(json.events.length)
  })

  it('with a suspended, revoked or expired credential appears with the owner of the credential', async () => {
    const { admin } = bench
    const key = await admin.keys.issue({ account: 'carol', label: 'laptop' })
    const access = await admin.keys.issueToken({ account: 'carol', appId: 'notes', scopes: ['models.run'] })
    const old = await admin.keys.issue({ account: 'carol', expiresAt: Date.now() - 1_000 })
    await admin.accounts.open('carol')
    await admin.accounts.suspend('carol')
    await admin.keys.revoke(access.credentialId)
    for (const { token } of [key, access, old]) await bench.call(token)
    const problems = 'api/events?problems=true'
    const { json } = await visit().get<ReplyOf<'events'>>(`${problems}&account=carol`)
    const found = json.events.map(({ explanation, account, caller }) => [
      explanation?.outcome,
      account,
      caller,
    ])
    const { credentialId } = access
    expect(found).toEqual([
      ['expired_credential', 'carol', { account: 'carol', credentialId: old.credentialId }],
      ['revoked_credential', 'carol', { account: 'carol', credentialId, appId: 'notes' }],
      [
        'account_suspended',
        'carol',
        { account: 'carol', credentialId: key.credentialId, credentialLabel: 'laptop' },
      ],
    ])
    const own = await bench.as({ kind: 'user', account: 'carol' }).get<ReplyOf<'events'>>(problems)
    expect(own.json.events).toEqual(json.events)
    for (const account of ['alice', 'dev']) {
      const { text } = await bench.as({ kind: 'user', account }).get(problems)
      expect(text).not.toContain('carol')
      expect(text).not.toContain(credentialId)
    }
  })

  it('refused before its model was found also appears to its caller', async () => {
    await bench.call(tokens.bob, { model: 'acme/none' }, { 'x-request-id': 'r-of-bob' })
    const ofBob = await bench.as({ kind: 'user', account: 'bob' }).get<ReplyOf<'events'>>('api/events')
    expect(ofBob.json.events.find(({ requestId }) => requestId === 'r-of-bob')).toMatchObject({
      account: 'bob',
      caller: { account: 'bob' },
      explanation: { outcome: 'model_not_found' },
    })
    const { text } = await bench.as({ kind: 'user', account: 'alice' }).get('api/events')
    expect(text).not.toContain('r-of-bob')
  })

  it('that failed at a provider shows the reason only to an operator', async () => {
    const end = {
      type: 'request-end',
      requestId: 'r-failed',
      operation: 'chat',
      at: Date.now(),
      durationMs: 1,
      outcome: 'provider_error',
      status: 502,
      facts: { requestId: 'r-failed', account: 'alice', credentialId: 'c', model: 'm' },
      routing: {
        considered: ['p:m'],
        excluded: [],
        chosenBy: 'only-route',
        attempts: [{ routeId: 'p:m', outcome: 'provider_error', why: 'The provider answered 402.' }],
      },
    } as const
    bench.pages.onEvent(end)
    const seen = async (viewer: ReturnType<typeof visit>) => {
      const { json } = await viewer.get<ReplyOf<'events'>>('api/events?account=alice')
      return json.events.find(({ requestId }) => requestId === 'r-failed')?.explanation?.routing?.attempts
    }
    const { why, ...attempt } = end.routing.attempts[0]
    expect(await seen(visit())).toEqual([{ ...attempt, why }])
    expect(await seen(bench.as({ kind: 'user', account: 'alice' }))).toEqual([attempt])
  })

  it('that failed internally has an event with a message', () => {
    const error = { name: 'Error', message: 'why' }
    const facts = { requestId: 'r', account: 'alice', credentialId: 'c', model: 'm' }
    const { onEvent } = bench.pages
    onEvent({ type: 'hold-expired', hold: { holdId: 'h', account: 'alice', amount: 5n, facts } })
    onEvent({ type: 'claim-lost', requestId: 'r', holdId: 'h' })
    onEvent({ type: 'usage-implausible', requestId: 'r', routeId: 'x', field: 'prompt', value: '-1' })
    onEvent({ type: 'call-abandoned', requestId: 'r', facts })
    onEvent({ type: 'store-fault', store: 'ledger', error })
    onEvent({ type: 'body-consumed', requestId: 'r', hint: 'Mount it before.' })
    onEvent({ type: 'route-disabled', routeId: 'x', why: 'no such adapter' })
    const route = { routeId: 'x', provider: 'p', model: 'm' }
    onEvent({
      type: 'route-misconfigured',
      requestId: 'r',
      ...route,
      flaw: 'key',
      why: 'The provider refuses the key.',
    })
    onEvent({ type: 'route-restored', ...route, why: 'a call succeeded', afterMs: 1 })
    onEvent({ type: 'fault', where: 'engine', error })
    return visit()
      .get<ReplyOf<'events'>>('api/events?limit=10')
      .then(({ json }) => {
        expect(json.events.map(({ message }) => message)).toEqual([
          'engine: why',
          'The route x is used again: a call succeeded',
          'The route x is misconfigured: The provider refuses the key.',
          'The route x cannot be used: no such adapter',
          'Mount it before.',
          'The ledger store failed: why',
          'The client left before the first token; nothing was charged',
          'x reported -1 as prompt, which is not a plausible token count',
          'The charge of h was posted although another call had taken its Idempotency-Key',
          'A hold of 0.000000005 credits expired and no longer counts',
        ])
      })
  })
})

describe("an operator using the console's API", () => {
  it('credits once per reference, corrects, and sees the balance', async () => {
    const credit = { account: 'new', amount: '2.5', reference: 'inv-1', memo: 'Welcome' }
    const first = await visit().post<ReplyOf<'accounts/credit'>>('api/accounts/credit', credit)
    const again = await visit().post<ReplyOf<'accounts/credit'>>('api/accounts/credit', credit)
    expect(again.json).toEqual({ ...first.json, isRepeat: true })
    expect(first.json).toMatchObject({
      entry: { kind: 'credit', amount: '2.5', memo: 'Welcome' },
      account: { id: 'new', posted: '2.5', held: '0', available: '2.5' },
    })
    const { entries } = (await visit().get<ReplyOf<'entries'>>('api/entries?reference=inv-1')).json
    expect(entries).toMatchObject([{ kind: 'credit', reference: 'inv-1' }])
    expect((await visit().get<ReplyOf<'entries'>>('api/entries?reference=inv-2')).json.entries).toEqual([])
    const corrected = await visit().post<ReplyOf<'accounts/credit'>>('api/accounts/correct', {
      account: 'new',
      amount: '-0.000000001',
    })
    expect(corrected.json.account.posted).toBe('2.499999999')
  })

  it('refunds part of a charge once per reference, and accounts that earned see only their own part', async () => {
    await bench.call(tokens.aliceNotes, { session_id: 's-refund', user: 'u-7' })
    const read = async (path: string, as = operator) =>
      (await bench.as(as).get<ReplyOf<'entries'>>(path)).json
    const [charge] = (await read('api/entries?sessionId=s-refund')).entries
    const before = (await bench.admin.accounts.balance('alice'))!.posted
    const ask = { entryId: charge!.id, amount: '0.000000002', reference: 'ticket-7', memo: 'for alice alone' }
    const first = await visit().post<ReplyOf<'accounts/credit'>>('api/entries/refund', ask)
    const again = await visit().post<ReplyOf<'accounts/credit'>>('api/entries/refund', ask)
    expect(again.json).toEqual({ ...first.json, isRepeat: true })
    expect(first.json).toMatchObject({
      entry: {
        kind: 'refund',
        amount: '0.000000002',
        refund: { of: charge!.id, amount: '0.000000002' },
        memo: 'for alice alone',
        facts: { account: 'alice', sessionId: 's-refund' },
      },
      account: { id: 'alice', posted: formatCredits(before + 2n) },
    })
    const own = await read('api/entries?sessionId=s-refund', { kind: 'user', account: 'alice' })
    expect(own.entries.map(({ kind }) => kind)).toEqual(['refund', 'charge'])
    expect(own.entries[0]).toEqual({
      ...first.json.entry,
      postings: [{ account: 'alice', amount: '0.000000002' }],
      facts: own.entries[0]!.facts,
    })
    const rest = await visit().post<ReplyOf<'accounts/credit'>>('api/entries/refund', { entryId: charge!.id })
    const [earned] = (await read('api/entries?limit=1', { kind: 'user', account: 'dev' })).entries
    expect(earned).toEqual({
      id: rest.json.entry.id,
      at: expect.any(Number),
      kind: 'refund',
      amount: expect.stringMatching(/^-0\.\d+$/),
      postings: [{ account: 'dev', amount: earned!.amount }],
      earnedFrom: { model: 'acme/fast', appId: 'notes' },
    })
    const refused = await visit().post('api/entries/refund', { entryId: charge!.id })
    expect([refused.status, refused.json]).toEqual([
      409,
      { error: { message: expect.stringContaining('has been refunded already') } },
    ])
    const csv = (await visit().get('api/entries.csv?sessionId=s-refund')).text.split('\r\n')
    expect(csv[2]).toContain(`,${charge!.id},0.000000002,for alice alone,`)
    for (const [body, status, field] of [
      [{ entryId: '0' }, 404, undefined],
      [{ entryId: charge!.id, amount: '0' }, 400, 'amount'],
      [{ entryId: charge!.id, amount: '-1' }, 400, 'amount'],
      [{ amount: '1' }, 400, 'entryId'],
    ] as const) {
      const { status: got, json } = await visit().post('api/entries/refund', body)
      expect([got, json]).toMatchObject([status, { error: field === undefined ? {} : { field } }])
    }
  })

  it('suspends an account and resumes it', async () => {
    const status = async () => (await bench.call(tokens.bob)).status
    expect(await status()).toBe(200)
    const { json } = await visit().post('api/accounts/suspend', { account: 'bob' })
    expect(json).toMatchObject({ account: { suspendedAt: expect.any(Number) } })
    await expect.poll(status, { timeout: 10_000 }).toBe(403)
    await visit().post('api/accounts/resume', { account: 'bob' })
    await expect.poll(status, { timeout: 10_000 }).toBe(200)
  })

  it('issues, reissues and revokes credentials, and each token is shown once', async () => {
    const issued = await visit().post<ReplyOf<'keys/issue'>>('api/keys/issue', {
      account: 'bob',
      label: 'laptop',
    })
    expect((await bench.call(issued.json.token)).status).toBe(200)
    const { credentialId } = issued.json
    const reissued = await visit().post<ReplyOf<'keys/issue'>>('api/keys/reissue', { credentialId })
    expect(reissued.json).toMatchObject({ credentialId })
    expect((await bench.call(issued.json.token)).status).toBe(401)
    expect((await bench.call(reissued.json.token)).status).toBe(200)
    const list = await visit().get<ReplyOf<'keys'>>('api/keys?account=bob')
    expect(list.text).not.toContain(reissued.json.token)
    expect(list.text).not.toContain('digest')
    expect(await visit().post('api/keys/revoke', { credentialId })).toMatchObject({
      json: { done: true },
    })
    expect((await bench.call(reissued.json.token)).status).toBe(401)
    const gone = await visit().post('api/keys/reissue', { credentialId })
    expect([gone.status, gone.json]).toEqual([
      409,
      { error: { message: expect.stringContaining('is revoked') } },
    ])
  })

  it('stores a model with its media tokens and prompt overhead, and shows them', async () => {
    const find = async () => {
      const { json } = await visit().get<ReplyOf<'models'>>('api/models')
      return json.models.find(({ id }) => id === 'acme/media')
    }
    const model = { id: 'acme/media', mediaTokens: 500, promptOverhead: 0 }
    expect((await visit().post('api/models/put', model)).json).toEqual({ done: true })
    const was = await find()
    expect(was).toEqual({ ...model, created: 0, ownedBy: 'acme' })
    expect((await visit().post('api/models/put', { id: model.id, was })).json).toEqual({ done: true })
    expect(await find()).toEqual({ id: model.id, created: 0, ownedBy: 'acme' })
    await visit().post('api/models/remove', { id: model.id })
  })

  it('stores a model and a route, whose secret is written but never shown', async () => {
    await visit().post('api/models/put', { id: 'acme/new', name: 'New', prices: { input: '1', output: '2' } })
    const route = { id: 'new', model: 'acme/new', provider: 'fake', adapter: 'fake', upstreamModel: 'x' }
    const settings = { baseUrl: 'https://a.example/v1' }
    const secret = 'sk-never-shown'
    expect((await visit().post('api/routes/put', { ...route, settings, secret })).json).toEqual({
      done: true,
    })
    expect((await bench.call(tokens.alice, { model: 'acme/new' })).status).toBe(200)
    const { json, text } = await visit().get<ReplyOf<'routes'>>('api/routes')
    expect(text).not.toContain(secret)
    expect(json.routes.find(({ id }) => id === 'new')).toEqual({
      ...route,
      settings,
      secretKeyId: 'k1',
      health: { routeId: 'new', provider: 'fake', state: 'closed', failureRate: 0, ...timings(json) },
    })
    const [was] = await bench.admin.routes.list({ routeIds: [route.id] })
    const moved = await visit().post('api/routes/put', {
      ...route,
      settings: { baseUrl: 'https://b.example/v1' },
      was,
    })
    expect([moved.status, moved.json]).toEqual([
      409,
      { error: { message: expect.stringContaining('give it again for the new address'), field: 'secret' } },
    ])
    const without = { ...route, settings, secret: null, was }
    expect((await visit().post('api/routes/put', without)).status).toBe(200)
    expect((await visit().post('api/maintenance/rotate-secrets')).json).toEqual({ count: 0 })
    expect((await visit().post('api/models/remove', { id: 'acme/new' })).json).toEqual({ done: true })
    const models = await visit().get<ReplyOf<'models'>>('api/models')
    expect(models.json.models.map(({ id }) => id)).not.toContain('acme/new')
  })

  const timings = ({ routes }: ReplyOf<'routes'>) => {
    const { firstTokenMs, tokensPerSecond } = routes.find(({ id }) => id === 'new')!.health!
    return {
      ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
      ...(tokensPerSecond === undefined ? {} : { tokensPerSecond }),
    }
  }
})
