import { describe, expect, it, onTestFinished } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import {
  generateEnvelopeKey,
  keyring,
  memoryLedger,
  parseCredits,
  type RouterOptions,
} from '../../src/index.js'
import type { Limit, MemoryLedger } from '../../src/stores.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  type ScriptedReply,
  type ScriptedRequest,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import {
  ALICE,
  type Answer,
  answers,
  contentOf,
  errorOf,
  fails,
  MODEL,
  perform,
  type ServiceOptions,
  startService,
  usageOf,
} from '../routing/service.js'

/** The beginning of a minute, an hour and a day. */
const START = Date.UTC(2026, 2, 31)
const MINUTE_MS = 60_000
/** A prompt of 5 bytes, at most 16 and 200 tokens more, and 100 tokens of output, at 10 and 20 credits a million. */
const HOLD = 221n * 10_000n + 100n * 20_000n
/** Of 10 and 5 tokens. */
const COST = 200_000n
const ASK = { max_tokens: 100 }
const MONTHLY: Limit = { id: 'budget', unit: 'credits', amount: HOLD + 2n * COST, per: 'month' }
const RATE: Limit = { id: 'rate', unit: 'requests', amount: 3n, per: 'minute' }
const TOKENS: Limit = { id: 'tokens', unit: 'tokens', amount: 1_000n, per: 'hour' }

interface LimitedOptions {
  readonly limits?: readonly Limit[]
  readonly routes?: ServiceOptions['routes']
  readonly isGrant?: boolean
  readonly balance?: string
  readonly router?: Partial<RouterOptions> | ((ledger: MemoryLedger) => Partial<RouterOptions>)
}

/** A service whose credential store returns Alice's limits as the test sets them. It ends with its test. */
async function start(options: LimitedOptions = {}) {
  const { balance = '1', isGrant = false, limits = [], router, routes } = options
  const clock = createSteppedClock(START)
  const caller: { limits: unknown } = { limits }
  const bearer = { account: 'alice', credentialId: 'key-1' }
  const app = { id: 'app-1', markup: { basisPoints: 0 }, allowedModels: [MODEL] }
  const ledger = memoryLedger({ alice: balance }, { clock })
  const service = await startService({
    ...(routes && { routes }),
    router: {
      clock,
      ledger,
      credentials: {
        resolve: () => ({
          ok: true,
          principal: isGrant
            ? {
                kind: 'access-token',
                ...bearer,
                app,
                scopes: ['models.run'],
                limits: caller.limits as Limit[],
              }
            : { kind: 'api-key', ...bearer, limits: caller.limits as Limit[] },
        }),
      },
      ...(typeof router === 'function' ? router(ledger) : router),
    },
  })
  onTestFinished(async () => {
    const closed = service.close()
    await clock.elapse(1)
    await closed
  })
  const balanceOf = async () => (await ledger.balance('alice', CONTEXT))!
  return { ...service, balanceOf, caller, clock, ledger }
}

const CONTEXT = { requestId: 'test', signal: new AbortController().signal }

async function play(script: Script, reply: ScriptedReply, request: ScriptedRequest): Promise<void> {
  if (typeof script === 'function') await script(reply, request)
  else await perform(script, reply)
}

/** A provider that uses every token that the hold covers. */
const greedy: Script = async (reply, request) => {
  const { max_tokens: completion } = request.body as { max_tokens: number }
  const usage = { prompt_tokens: 221, completion_tokens: completion, total_tokens: 221 + completion }
  await play(answers('all of it', usage), reply, request)
}

const statusAndCode = (answer: Answer) =>
  answer.status === 200 ? [200, undefined] : [answer.status, errorOf(answer).code]

const rateHeaders = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-ratelimit')))

const shown = (unit: string, limit: string, remaining: string, reset?: string) => ({
  [`x-ratelimit-limit-${unit}`]: limit,
  [`x-ratelimit-remaining-${unit}`]: remaining,
  ...(reset !== undefined && { [`x-ratelimit-reset-${unit}`]: reset }),
})

describe.each([
  ['streamed', true],
  ['as JSON', false],
])('a monthly budget of calls %s', (_, stream) => {
  it('refuses the call that it does not cover, and says what would fit', async () => {
    const { ask, balanceOf, end, upstreams } = await start({ limits: [MONTHLY] })
    for (let call = 0; call < 3; call++) {
      const answer = await ask({ ...ASK, stream })
      expect([answer.status, usageOf(answer).cost]).toEqual([200, 0.0002])
    }
    const refused = await ask({ ...ASK, stream })
    expect(statusAndCode(refused)).toEqual([402, 'budget_exceeded'])
    expect(errorOf(refused).message).toBe(
      'This request needs 0.00421 credits on hold; the monthly budget of this key has 0.00401 of 0.00461 credits ' +
        'left. It starts again in 24 hours. It would fit with max_tokens: 90.',
    )
    expect(refused.headers).toMatchObject({ 'x-should-retry': 'false' })
    expect((await end(refused)).limit).toEqual({
      id: 'budget',
      bucket: 'budget:credits/month/UTC',
      unit: 'credits',
    })
    expect((await end(refused)).routing?.attempts).toEqual([
      { routeId: `p0:${MODEL}`, outcome: 'budget_exceeded', why: 'limit budget' },
    ])
    expect(upstreams[0]!.requests).toHaveLength(3)
    expect((await balanceOf()).posted).toBe(parseCredits('1') - 3n * COST)
    expect((await ask({ max_tokens: 91, stream })).status).toBe(402)
    expect((await ask({ max_tokens: 90, stream })).status).toBe(200)
  })

  it('is never overdrawn by 50 concurrent calls, and admits all that fit', async () => {
    const { ask, balanceOf, upstreams } = await start({
      limits: [{ ...MONTHLY, amount: 7n * HOLD + COST }],
    })
    upstreams[0]!.script(greedy)
    const first = await Promise.all(Array.from({ length: 50 }, () => ask({ ...ASK, stream })))
    const whole = first.filter(({ status }) => status === 200)
    expect(whole.map((answer) => usageOf(answer).cost)).toEqual(Array(7).fill(0.00421))
    const refused = new Set(
      first.filter(({ status }) => status !== 200).map((answer) => errorOf(answer).code),
    )
    expect([...refused].every((code) => code === 'budget_on_hold' || code === 'budget_exceeded')).toBe(true)
    expect(statusAndCode(await ask({ ...ASK, stream }))).toEqual([402, 'budget_exceeded'])
    expect(await balanceOf()).toMatchObject({ posted: parseCredits('1') - 7n * HOLD, held: 0n })
  })

  it('sends the provider the maximum that is held, and never costs more', async () => {
    const { ask, end, upstreams } = await start({
      limits: [MONTHLY],
      router: { charging: { holdOutputTokens: 50 } },
    })
    const usage = { prompt_tokens: 500, completion_tokens: 200, total_tokens: 700 }
    upstreams[0]!.script(answers('too much', usage))
    const answer = await ask({ stream })
    expect(upstreams[0]!.requests[0]!.body).toMatchObject({ max_tokens: 50 })
    const hold = 221n * 10_000n + 50n * 20_000n
    expect((await end(answer)).charge).toMatchObject({ cost: hold, shortfall: 9_000_000n - hold })
    expect((await ask({ ...ASK, stream })).status).toBe(402)
  })

  it('starts again with the month', async () => {
    const { ask, clock } = await start({ limits: [MONTHLY] })
    for (let call = 0; call < 3; call++) await ask({ ...ASK, stream })
    expect((await ask({ ...ASK, stream })).status).toBe(402)
    await clock.elapse(24 * 60 * MINUTE_MS)
    expect((await ask({ ...ASK, stream })).status).toBe(200)
  })
})

it('cuts a stream off once its hold under a budget is used up', async () => {
  const { ask, end, upstreams } = await start({ limits: [MONTHLY] })
  upstreams[0]!.script(async (reply) => {
    reply.head(200, { 'content-type': 'text/event-stream' })
    while (reply.open) {
      await reply.write(`data: ${JSON.stringify(textChunk('x'.repeat(100)))}\n\n`)
      await new Promise(setImmediate)
    }
  })
  const answer = await ask({ ...ASK, stream: true })
  expect(answer.text).toContain('"finish_reason":"length"')
  const { charge, holdAmount } = await end(answer)
  expect(holdAmount).toBe(HOLD)
  expect(charge!.cost).toBeLessThanOrEqual(HOLD)
})

describe('a rate limit of requests', () => {
  it('admits exactly its number, and shows it on every reply', async () => {
    const { ask, clock, upstreams } = await start({ limits: [RATE] })
    await clock.elapse(15_500)
    const seen = []
    for (const stream of [true, false, true, false]) seen.push(await ask({ stream }))
    expect(seen.map(rateHeaders)).toEqual(
      ['2', '1', '0', '0'].map((left) => shown('requests', '3', left, '45s')),
    )
    expect(seen.map(statusAndCode)).toEqual([
      [200, undefined],
      [200, undefined],
      [200, undefined],
      [429, 'rate_limited'],
    ])
    expect(seen[3]!.headers).toMatchObject({ 'retry-after': '45' })
    expect(seen[3]!.headers).not.toHaveProperty('x-should-retry', 'false')
    expect(upstreams[0]!.requests).toHaveLength(3)
    await clock.elapse(44_500)
    expect(rateHeaders(await ask())).toEqual(shown('requests', '3', '2', '1m0s'))
  })

  it('admits exactly its number of 50 concurrent calls', async () => {
    const { ask } = await start({ limits: [{ ...RATE, amount: 20n }] })
    const seen = await Promise.all(Array.from({ length: 50 }, () => ask()))
    expect(seen.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(seen.filter(({ status }) => status === 429)).toHaveLength(30)
  })

  it('counts calls that fail, and shows that', async () => {
    const { ask, upstreams } = await start({ limits: [{ ...RATE, amount: 2n }] })
    upstreams[0]!.script(fails(500))
    const seen = []
    for (const stream of [true, false, true]) seen.push(await ask({ stream }))
    expect(seen.map(({ status }) => status)).toEqual([502, 502, 429])
    expect(seen.map(rateHeaders)).toEqual(['1', '0', '0'].map((left) => shown('requests', '2', left, '1m0s')))
  })

  it('counts no replay, no call whose hold was refused, and no listing of models', async () => {
    const { ask, url } = await start({ limits: [RATE], balance: '0.003' })
    const key = { 'idempotency-key': 'one' }
    const first = await ask(ASK, key)
    expect(rateHeaders(first)).toMatchObject({ 'x-ratelimit-remaining-requests': '2' })
    const replay = await ask(ASK, key)
    expect([replay.headers['idempotent-replayed'], rateHeaders(replay)]).toEqual(['true', {}])
    expect(statusAndCode(await ask({ max_tokens: 5_000 }))).toEqual([402, 'insufficient_credits'])
    const models = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${ALICE}` } })
    expect(models.status).toBe(200)
    expect([...models.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
    expect(rateHeaders(await ask(ASK))).toMatchObject({ 'x-ratelimit-remaining-requests': '1' })
  })

  it('counts one request for a call that falls back, and tests no other route after a refusal', async () => {
    const { ask, end, upstreams } = await start({
      limits: [RATE],
      routes: [{}, { prices: { input: '100', output: '100' } }],
    })
    upstreams[0]!.script(fails(500))
    const seen = []
    for (let call = 0; call < 4; call++) seen.push(await ask(ASK))
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(seen.map((answer) => rateHeaders(answer)['x-ratelimit-remaining-requests'])).toEqual([
      '2',
      '1',
      '0',
      '0',
    ])
    expect((await end(seen[3]!)).routing?.attempts).toHaveLength(1)
  })

  it('shows the tightest of several limits, and names the one that ends last', async () => {
    const { ask } = await start({
      limits: [
        { ...RATE, amount: 2n },
        { ...RATE, id: 'daily', amount: 2n, per: 'day' },
        { ...RATE, id: 'monthly', amount: 90n, per: 'month' },
      ],
    })
    expect(rateHeaders(await ask())).toEqual(shown('requests', '2', '1', '24h0m0s'))
    await ask()
    const refused = await ask()
    expect(refused.headers).toMatchObject({
      ...shown('requests', '2', '0', '24h0m0s'),
      'retry-after': '86400',
      'x-should-retry': 'false',
    })
    expect(errorOf(refused).message).toContain('the daily request limit of this key')
  })
})

describe('a rate limit of tokens', () => {
  it('holds the estimate of a call, and then counts its tokens', async () => {
    const { ask } = await start({ limits: [TOKENS] })
    const first = await ask(ASK)
    const held = 1_000 - Number(rateHeaders(first)['x-ratelimit-remaining-tokens'])
    expect(held).toBeGreaterThan(100)
    expect(held).toBeLessThan(130)
    expect(rateHeaders(await ask(ASK))).toEqual(shown('tokens', '1000', String(1_000 - held - 15), '1h0m0s'))
    const refused = await ask({ max_tokens: 965 })
    expect(statusAndCode(refused)).toEqual([429, 'rate_limited'])
    expect(rateHeaders(refused)).toEqual(shown('tokens', '1000', '970', '1h0m0s'))
  })

  it('may be refused until calls in flight have ended', async () => {
    const { ask, upstreams } = await start({ limits: [TOKENS] })
    upstreams[0]!.script((reply) => reply.closed)
    const asked = upstreams[0]!.nextRequest()
    void ask({ max_tokens: 800 }).catch(() => undefined)
    await asked
    const refused = await ask({ max_tokens: 800 })
    expect(statusAndCode(refused)).toEqual([429, 'budget_on_hold'])
    expect(refused.headers).toMatchObject({ 'retry-after': '5', 'x-should-retry': 'true' })
  })

  it('swaps a hold for one of more tokens if another route counts more', async () => {
    const { ask, upstreams } = await start({ limits: [TOKENS], routes: [{}, { weight: 0 }] })
    upstreams[0]!.script(fails(500))
    expect((await ask(ASK)).status).toBe(200)
    expect(rateHeaders(await ask(ASK))).toMatchObject({ 'x-ratelimit-limit-tokens': '1000' })
  })
})

describe('a route that is more expensive than the budget', () => {
  const dear = { prices: { input: '100', output: '200' } }

  it('is skipped after another one has failed, and the call ends with that failure', async () => {
    const { ask, balanceOf, end, upstreams } = await start({ limits: [MONTHLY], routes: [{}, dear] })
    upstreams[0]!.script(fails(503))
    const answer = await ask(ASK)
    expect(statusAndCode(answer)).toEqual([503, 'provider_overloaded'])
    expect(upstreams[1]!.requests).toHaveLength(0)
    expect((await end(answer)).routing?.attempts).toMatchObject([
      { outcome: 'provider_overloaded' },
      { outcome: 'budget_exceeded', why: 'limit budget' },
    ])
    expect((await end(answer)).limit).toBeUndefined()
    expect(await balanceOf()).toMatchObject({ held: 0n })
    expect((await ask(ASK)).status).toBe(503)
  })

  it('is used if the budget covers it, and its own cost counts', async () => {
    const amount = 10n * HOLD + COST
    const { ask, upstreams } = await start({ limits: [{ ...MONTHLY, amount }], routes: [{}, dear] })
    upstreams[0]!.script(fails(503))
    const answer = await ask(ASK)
    expect([contentOf(answer), usageOf(answer).cost]).toEqual(['I am p1', 0.002])
    upstreams[0]!.script(answers('I am p0'))
    expect(errorOf(await ask({ max_tokens: 2_000 })).message).toContain(' has 0.0403 of 0.0423 credits left')
  })

  it('is not the one reported if a cheaper route was refused too', async () => {
    const { ask } = await start({ limits: [{ ...MONTHLY, amount: HOLD - 20_000n }], routes: [dear, {}] })
    const { message } = errorOf(await ask({ ...ASK, routing: { order: ['p0', 'p1'] } }))
    expect(message).toBe(
      'This request needs 0.00421 credits on hold; the monthly budget of this key is 0.00419 credits. ' +
        'It would fit with max_tokens: 99.',
    )
  })
})

describe("a limited call with the caller's own key", () => {
  it('passes a used-up budget, and counts as a request', async () => {
    const envelopes = keyring([await generateEnvelopeKey('2026-11')])
    const [published] = envelopes.publicKeys().keys
    const { ask } = await start({
      limits: [{ ...MONTHLY, amount: 0n }, RATE],
      routes: [{ apiKey: 'host-key-of-p0', byok: 'yes' }],
      router: { envelopes },
    })
    expect(statusAndCode(await ask(ASK))).toEqual([402, 'budget_exceeded'])
    const key = { key: 'sk-callers-own-0123456789', provider: 'p0', account: 'alice' }
    const own = { ...ASK, provider: 'p0', provider_key: await sealProviderKey(key, published!) }
    const seen = []
    for (let call = 0; call < 4; call++) seen.push(await ask(own))
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(rateHeaders(seen[0]!)).toMatchObject({ 'x-ratelimit-remaining-requests': '2' })
  })
})

describe('a client that leaves a call with a budget', () => {
  it('pays from its budget as if it had stayed', async () => {
    const { ask, events, ledger, upstreams, url } = await start({ limits: [MONTHLY] })
    let proceed = (): void => undefined
    const gone = new Promise<void>((resolve) => (proceed = resolve))
    upstreams[0]!.script(async (reply) => {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(`data: ${JSON.stringify(textChunk('Hel'))}\n\n`)
      await gone
      const usage = { prompt_tokens: 221, completion_tokens: 100, total_tokens: 321 }
      await perform(
        answerEvents([textChunk('lo'), finishChunk(), { ...textChunk(''), choices: [], usage }]),
        {
          ...reply,
          head: () => undefined,
          write: (bytes) => reply.write(bytes),
          end: () => reply.end(),
        },
      )
    })
    const abort = new AbortController()
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      signal: abort.signal,
      headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
        ...ASK,
      }),
    })
    expect(response.status).toBe(200)
    abort.abort()
    proceed()
    while (!events.some(({ type }) => type === 'request-end')) await new Promise(setImmediate)
    expect(await ledger.balance('alice', CONTEXT)).toMatchObject({
      posted: parseCredits('1') - HOLD,
      held: 0n,
    })
    expect(errorOf(await ask(ASK)).message).toContain(' has 0.0004 of 0.00461 credits left')
  })
})

describe('a limited call in flight', () => {
  /** A provider that answers when it is told to. */
  function held() {
    let proceed = (): void => undefined
    const told = new Promise<void>((resolve) => (proceed = resolve))
    const script: Script = async (reply, request) => {
      await told
      await play(answers('late'), reply, request)
    }
    return { proceed: () => proceed(), script }
  }

  it('does not count in the next period if it crosses the end of one', async () => {
    const limit: Limit = { ...MONTHLY, per: 'minute', amount: HOLD }
    const { ask, clock, upstreams } = await start({ limits: [limit] })
    const { proceed, script } = held()
    upstreams[0]!.scriptOnce(script)
    const asked = upstreams[0]!.nextRequest()
    const late = ask(ASK)
    await asked
    await clock.elapse(MINUTE_MS)
    const { max_tokens: fits } = { max_tokens: 89 }
    expect((await ask({ max_tokens: fits })).status).toBe(200)
    proceed()
    expect((await late).status).toBe(200)
    // Only the second call's cost is used in this minute.
    expect(errorOf(await ask(ASK)).message).toContain(' has 0.00401 of 0.00421 credits left')
    expect((await ask({ max_tokens: 90 })).status).toBe(200)
  })

  it('settles although its limit was removed, and calls without limits are not tested', async () => {
    const { ask, balanceOf, caller, upstreams } = await start({ limits: [MONTHLY, RATE] })
    const { proceed, script } = held()
    upstreams[0]!.scriptOnce(script)
    const asked = upstreams[0]!.nextRequest()
    const late = ask(ASK)
    await asked
    caller.limits = undefined
    const free = await ask(ASK)
    expect([free.status, rateHeaders(free)]).toEqual([200, {}])
    proceed()
    expect((await late).status).toBe(200)
    expect(await balanceOf()).toMatchObject({ posted: parseCredits('1') - 2n * COST, held: 0n })
  })

  it('keeps its hold if the limit is lowered, and nothing passes until there is room', async () => {
    const { ask, caller } = await start({ limits: [MONTHLY] })
    expect((await ask(ASK)).status).toBe(200)
    caller.limits = [{ ...MONTHLY, amount: COST - 1n }]
    expect(errorOf(await ask({ max_tokens: 1 })).message).toMatch(/is 0\.000199999 credits\.$/)
    caller.limits = [{ ...MONTHLY, amount: HOLD + COST }]
    expect((await ask(ASK)).status).toBe(200)
  })
})

describe('limits of an account or an app', () => {
  it.each(['account', 'app'] as const)('are named without figures: %s', async (of) => {
    const { ask, end } = await start({ limits: [{ ...RATE, of, amount: 1n }], isGrant: true })
    const first = await ask(ASK)
    expect([first.status, rateHeaders(first)]).toEqual([200, {}])
    const refused = await ask(ASK)
    expect(errorOf(refused).message).toBe(
      `This request is one too many; the per-minute request limit of this ${of} does not cover it. ` +
        'It starts again in 60 seconds.',
    )
    expect([refused.headers['retry-after'], rateHeaders(refused)]).toEqual(['59', {}])
    expect((await end(refused)).limit).toMatchObject({ id: 'rate' })
  })

  it('apply beside those of a connected app, whose figures the app sees', async () => {
    const { ask } = await start({
      limits: [RATE, { ...RATE, id: 'app', of: 'app', amount: 1_000n }],
      isGrant: true,
    })
    expect(rateHeaders(await ask(ASK))).toEqual(shown('requests', '3', '2', '1m0s'))
  })
})

describe("the host's own sentence for refusals", () => {
  it.each([
    ['insufficient_credits', { balance: '0.0001' }],
    ['budget_exceeded', { limits: [{ ...MONTHLY, amount: 1n }] }],
  ])('ends the message of a 402 %s', async (code, options) => {
    const creditHelp = 'Top up at https://acme.example/credits.'
    const { ask } = await start({ ...options, router: { creditHelp } })
    const refused = await ask(ASK)
    expect(statusAndCode(refused)).toEqual([402, code])
    expect(errorOf(refused).message.endsWith(`. ${creditHelp}`)).toBe(true)
  })

  it('follows what would have fitted into the balance', async () => {
    const { ask } = await start({ balance: '0.001' })
    const { message } = errorOf(await ask(ASK))
    const most = Number(/It would fit with max_tokens: (\d+)\.$/.exec(message)![1])
    expect((await ask({ max_tokens: most + 1 })).status).toBe(402)
    expect((await ask({ max_tokens: most })).status).toBe(200)
  })

  it('names the field that the client used', async () => {
    const { ask } = await start({ limits: [MONTHLY] })
    const { message } = errorOf(await ask({ max_completion_tokens: 5_000, n: 2 }))
    const most = Number(/It would fit with max_completion_tokens: (\d+)\.$/.exec(message)![1])
    expect((await ask({ max_completion_tokens: most + 1, n: 2 })).status).toBe(402)
    expect((await ask({ max_completion_tokens: most, n: 2 })).status).toBe(200)
  })

  it('leaves room for a thinking budget', async () => {
    const { ask } = await start({ limits: [MONTHLY] })
    const thinking = { reasoning: { max_tokens: 40 } }
    const { message } = errorOf(await ask({ max_tokens: 5_000, ...thinking }))
    const most = Number(/It would fit with max_tokens: (\d+)\.$/.exec(message)![1])
    expect((await ask({ max_tokens: most + 1, ...thinking })).status).toBe(402)
    expect((await ask({ max_tokens: most, ...thinking })).status).toBe(200)
  })
})

describe('limits that a credential store returns wrongly', () => {
  it.each<[fault: string, limits: unknown]>([
    ['limits: must be a list; got an object', {}],
    ['limits: must be a list; got null', null],
    ['limits.0: must be an object; got null', [null]],
    ['limits.0.id: must be 1 to 256 bytes', [{ ...RATE, id: '' }]],
    ['limits.1.unit: must be "credits", "requests" or "tokens"', [RATE, { ...MONTHLY, unit: 'calls' }]],
    ['limits.0.amount: must be', [{ ...RATE, amount: 60 }]],
    ['limits.0.amount: must be from 0n', [{ ...RATE, amount: -1n }]],
    ['limits.0.per: must be', [{ ...RATE, per: 'fortnight' }]],
    ['limits.0.zone: must be the name of a time zone', [{ ...MONTHLY, zone: 'Mars/Phobos' }]],
    ['limits: must not have an id twice', [RATE, RATE]],
  ])('are a fault of the store, before any hold: %s', async (fault, limits) => {
    const { ask, balanceOf, caller, events, upstreams } = await start()
    caller.limits = limits
    expect(statusAndCode(await ask(ASK))).toEqual([500, 'internal_error'])
    const faults = events.filter(({ type }) => type === 'store-fault')
    expect(faults).toMatchObject([
      { store: 'credentials', error: { message: expect.stringContaining(fault) } },
    ])
    expect(upstreams[0]!.requests).toHaveLength(0)
    expect(await balanceOf()).toMatchObject({ held: 0n })
  })

  it('are treated as none if the list is empty', async () => {
    const { ask } = await start({ limits: [] })
    expect((await ask(ASK)).status).toBe(200)
  })
})

describe('a ledger that does not answer the limits of a hold', () => {
  const state = { bucket: 'rate:requests/minute', from: START, left: 2n, resetMs: 1 }

  it.each<[what: string, answer: object]>([
    ['at all', { ok: true }],
    ['of each limit', { ok: true, limits: [] }],
    ['by its bucket', { ok: true, limits: [{ ...state, bucket: 'rate' }] }],
    ['with the beginning of its period', { ok: true, limits: [{ ...state, from: undefined }] }],
    ['with the rest', { ok: true, limits: [{ ...state, left: 2 }] }],
    ['with the time that is left', { ok: true, limits: [{ ...state, resetMs: Number.NaN }] }],
    ['of this call', { ok: false, reason: 'limited', ...state, bucket: 'other', onlyHeld: false }],
    ['as only held or not', { ok: false, reason: 'limited', ...state }],
  ])('%s gets its hold released, and nothing is dispatched', async (_, answer) => {
    const released: string[] = []
    const { ask, balanceOf, events, router, upstreams } = await start({
      limits: [RATE],
      router: (ledger) => lying(ledger, answer, released),
    })
    expect(statusAndCode(await ask(ASK))).toEqual([503, 'ledger_unavailable'])
    expect(events.filter(({ type }) => type === 'store-fault')).toMatchObject([{ store: 'ledger' }])
    expect(released).toHaveLength(1)
    expect(upstreams[0]!.requests).toHaveLength(0)
    expect([router.openHolds, (await balanceOf()).held]).toEqual([0, 0n])
  })

  /** A ledger that takes the hold without its limits, and answers something else. */
  function lying(ledger: MemoryLedger, answer: object, released: string[]): Partial<RouterOptions> {
    return {
      ledger: {
        ...ledger,
        hold: async ({ limits: _, ...request }, context) => {
          await ledger.hold(request, context)
          return answer as never
        },
        release: (request, context) => {
          released.push(request.holdId)
          return ledger.release(request, context)
        },
      },
    }
  }
})

it('embeddings count towards limits too, and have no output to shorten', async () => {
  const { upstreams, url } = await start({ limits: [RATE, TOKENS, { ...MONTHLY, amount: 2_100_000n }] })
  const data = [{ object: 'embedding', index: 0, embedding: [1] }]
  upstreams[0]!.script(answerJson({ object: 'list', data, usage: { prompt_tokens: 7, total_tokens: 7 } }))
  const embed = async (input: string) => {
    const response = await fetch(`${url}/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, input }),
    })
    const { error, usage } = (await response.json()) as {
      error?: { message: string }
      usage?: { cost: number }
    }
    return {
      left: response.headers.get('x-ratelimit-remaining-requests'),
      status: response.status,
      error,
      usage,
    }
  }
  expect(await embed('Hello')).toMatchObject({ left: '2', status: 200, usage: { cost: 0.00007 } })
  const refused = await embed('x'.repeat(200))
  expect([refused.status, refused.error?.message]).toEqual([
    402,
    'This request needs 0.00208 credits on hold; the monthly budget of this key has 0.00203 of 0.0021 credits left. ' +
      'It starts again in 24 hours.',
  ])
  expect(await embed('Hello')).toMatchObject({ left: '1', status: 200 })
})

it('a refusal for the balance comes before that of any limit', async () => {
  const { ask } = await start({ balance: '0', limits: [{ ...RATE, amount: 0n }] })
  expect(statusAndCode(await ask(ASK))).toEqual([402, 'insufficient_credits'])
})

it('what a call uses of its limits is in the event of a charge that cannot be posted', async () => {
  const { ask, clock, events } = await start({
    limits: [MONTHLY, RATE, TOKENS],
    router: (ledger) => ({ ledger: { ...ledger, settle: () => Promise.reject(new Error('down')) } }),
  })
  const answered = ask(ASK)
  const untilFailed = async () => {
    while (!events.some(({ type }) => type === 'charge-failed')) {
      await new Promise(setImmediate)
      await clock.elapse(1_000)
    }
  }
  await Promise.all([answered, untilFailed()])
  expect(events.find(({ type }) => type === 'charge-failed')).toMatchObject({
    request: {
      limits: [
        { bucket: 'budget:credits/month/UTC', unit: 'credits', used: COST },
        { bucket: 'rate:requests/minute', unit: 'requests', used: 1n },
        { bucket: 'tokens:tokens/hour', unit: 'tokens', used: 15n },
      ],
    },
  })
})
