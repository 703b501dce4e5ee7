import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReplyOf } from '../../src/console/protocol.js'
import type { KeptCall } from '../../src/index.js'
import { createFacts, createSettle } from '../helpers/ledger-requests.js'
import { alice, type Bench, furnish, operator, startBench } from './console-bench.js'

const context = { requestId: 'test', signal: new AbortController().signal }

let bench: Bench
let tokens: Awaited<ReturnType<typeof furnish>>
const visit = () => bench.as(operator)
const read = async (query: string, viewer = operator) =>
  (await bench.as(viewer).get<ReplyOf<'calls'>>(`api/calls?${query}`)).json

beforeAll(async () => {
  bench = await startBench()
  tokens = await furnish(bench)
})

afterAll(() => bench.close())

/** A call that another process has kept: this console has heard no event of it. */
function callElsewhere(id: string, more: Partial<KeptCall> = {}): KeptCall {
  const requestId = `request-of-${id}`
  return {
    id,
    requestId,
    operation: 'chat',
    at: Date.now(),
    durationMs: 1_500,
    outcome: 'provider_error',
    status: 502,
    facts: {
      ...{ requestId, account: 'alice', credentialId: 'key-elsewhere', model: 'acme/fast', appId: 'notes' },
      ...{ provider: 'fake', routeId: 'r:acme/fast', completionId: id },
    },
    routing: {
      considered: ['r:acme/fast'],
      excluded: [],
      chosenBy: 'only-route',
      attempts: [{ routeId: 'r:acme/fast', outcome: 'provider_error', why: 'The provider answered 500.' }],
    },
    firstTokenMs: 20,
    ...more,
  }
}

async function keep(call: KeptCall): Promise<void> {
  bench.stores.calls.record(call)
  await expect.poll(() => bench.admin.calls.find(call.id)).toBeDefined()
}

describe("the console's list of calls kept in a database", () => {
  it('shows each call at once and only once, together with those of this process that are not written yet', async () => {
    await bench.call(tokens.bob, { model: 'acme/none' }, { 'x-request-id': 'r-none' })
    await bench.call(tokens.bob, {}, { 'x-request-id': 'r-good' })
    await bench.call('sk-wrong', {}, { 'x-request-id': 'r-wrong' })
    const idsOf = async (query: string) => (await read(query)).calls.map(({ requestId }) => requestId)
    expect(await idsOf('')).toEqual(['r-wrong', 'r-good', 'r-none'])
    await expect.poll(async () => (await bench.admin.calls.list()).calls.length).toBe(3)
    expect(await idsOf('')).toEqual(['r-wrong', 'r-good', 'r-none'])
    expect(await idsOf('problems=true')).toEqual(['r-wrong', 'r-none'])
    expect(await idsOf('status=404')).toEqual(['r-none'])
    expect(await idsOf('account=bob&outcome=completed')).toEqual(['r-good'])
    expect(await idsOf('limit=1')).toEqual(['r-wrong'])
    const [refused] = (await read('requestId=r-none')).calls
    expect(refused).toMatchObject({
      account: 'bob',
      caller: { account: 'bob' },
      askedModel: 'acme/none',
      field: 'model',
      explanation: { outcome: 'model_not_found', status: 404 },
    })
  })

  it('has the calls of all processes, in pages', async () => {
    for (const number of [1, 2, 3, 4, 5]) await keep(callElsewhere(`elsewhere-${number}`))
    const found: string[] = []
    let page = await read('key=key-elsewhere&limit=2')
    for (;;) {
      found.push(...page.calls.map(({ key }) => key))
      if (page.next === undefined) break
      page = await read(`key=key-elsewhere&limit=2&after=${page.next}`)
    }
    expect(found).toEqual([5, 4, 3, 2, 1].map((number) => `elsewhere-${number}`))
  })

  it('shows only to an operator why a provider failed', async () => {
    await keep(callElsewhere('failed'))
    const query = 'requestId=request-of-failed'
    const attempt = { routeId: 'r:acme/fast', outcome: 'provider_error' }
    const [seen] = (await read(query)).calls
    expect(seen).toMatchObject({ explanation: { durationMs: 1_500, firstTokenMs: 20 } })
    expect(seen!.explanation.routing!.attempts).toEqual([{ ...attempt, why: 'The provider answered 500.' }])
    const [own] = (await read(query, alice)).calls
    expect(own!.explanation.routing!.attempts).toEqual([attempt])
  })

  it('is available as CSV', async () => {
    await keep(callElsewhere('in-csv', { requestId: '=1+1' }))
    const { text, headers } = await visit().get('api/calls.csv?outcome=provider_error&model=acme/fast')
    expect(headers.get('content-disposition')).toContain('calls.csv')
    const [names, ...lines] = text.trim().split('\r\n')
    expect(names).toContain('time,operation,status,outcome,field,model,account,credential,app')
    const line = lines.find((one) => one.includes('in-csv'))!
    expect(line).toContain('chat,502,provider_error,,acme/fast,alice,key-elsewhere,notes,fake,r:acme/fast')
    expect(line).toContain('"r:acme/fast: provider_error, The provider answered 500.",1500,20')
    expect(line).toContain("'=1+1")
    const { text: own } = await bench.as(alice).get('api/calls.csv?outcome=provider_error')
    expect(own).not.toContain('The provider answered')
  })

  it('explains the entries of calls that ended in another process', async () => {
    const facts = createFacts('alice', { completionId: 'charged-elsewhere' })
    const settle = createSettle('hold-elsewhere', 'alice', 5n, { facts })
    await bench.stores.ledger.settle(settle, context)
    const entry = async () => {
      const { json } = await visit().get<ReplyOf<'entries'>>('api/entries?account=alice')
      return json.entries.find(({ holdId }) => holdId === 'hold-elsewhere')!
    }
    expect((await entry()).explanation).toBeUndefined()
    const more = { charge: settle.charge, holdId: 'hold-elsewhere', outcome: 'completed', status: 200 }
    await keep(callElsewhere('charged-elsewhere', more))
    expect((await entry()).explanation).toMatchObject({
      outcome: 'completed',
      durationMs: 1_500,
      routing: { chosenBy: 'only-route' },
    })
    const { text } = await visit().get('api/entries.csv?account=alice')
    expect(text.split('\r\n').find((line) => line.includes('charged-elsewhere'))).toMatch(/,completed$/)
  })
})

it('a key in the console shows the minute of its last use and what was spent with it', async () => {
  const { token, credentialId } = await bench.admin.keys.issue({ account: 'alice' })
  const viewOf = async () =>
    (await visit().get<ReplyOf<'keys'>>('api/keys?account=alice')).json.credentials.find(
      (key) => key.credentialId === credentialId,
    )!
  expect((await viewOf()).lastUsedAt).toBeUndefined()
  await bench.call(token, {}, { 'x-request-id': 'r-used' })
  await expect.poll(async () => (await viewOf()).lastUsedAt).toBeDefined()
  const [call] = (await read('requestId=r-used')).calls
  expect((await viewOf()).lastUsedAt).toBe(Math.floor(call!.at / 60_000) * 60_000)
  const spend = await bench.as(alice).get(`api/keys/spend?ids=${credentialId},unused`)
  expect(spend.json).toEqual({ spend: [{ credentialId, cost: call!.charge!.cost }] })
})
