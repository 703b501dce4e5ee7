import { Agent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as library from '../../src/index.js'
import { assertOneCharge } from '../helpers/charge-assertions.js'
import { nanos } from '../helpers/decimals.js'
import { createDeferred } from '../helpers/deferred.js'
import { Bench, type BenchOptions, MODEL, OWN_KEY, PAYER, PROMPT } from './bench.js'
import { HOLD } from './cases/overdraw.js'
import { send, takeOver } from './fault.js'
import { body, DONE, FINISH, HEAD, TOKENS, USAGE } from './upstream-scripts.js'

const WHOLE_REPLY = [HEAD, TOKENS, FINISH, USAGE, DONE, 'end'] as const
const CONTEXT = { requestId: 'test', signal: new AbortController().signal }

async function start(options: BenchOptions = {}): Promise<Bench> {
  const bench = await Bench.start(library, options)
  onTestFinished(() => bench.finish())
  return bench
}

describe('an account without enough credit', () => {
  it.each([true, false])('is refused and told not to retry (stream: %s)', async (stream) => {
    const bench = await start({ accounts: { [PAYER]: '0.004363999' } })
    const { client } = bench.call(stream)
    await client.over
    expect([client.status, client.headers['x-should-retry'], client.headers['retry-after']]).toEqual([
      402,
      'false',
      undefined,
    ])
    expect(JSON.parse(client.text).error).toMatchObject({
      code: 'insufficient_credits',
      type: 'billing_error',
    })
    // The caller is an app that may not read the balance.
    expect(client.text).toContain('too few free credits')
    expect(client.text).not.toMatch(/0\.\d/)
    await bench.event('request-end')
    expect(bench.upstream.requests).toEqual([])
  })

  it('is refused the same way if it is unknown', async () => {
    const bench = await start({ accounts: {} })
    const { client } = bench.call(false)
    await client.over
    expect([client.status, JSON.parse(client.text).error.code]).toEqual([402, 'insufficient_credits'])
    await bench.event('request-end')
  })

  it.each([true, false])(
    'is told to retry if its other calls hold the credit, and then succeeds (stream: %s)',
    async (stream) => {
      const bench = await start({ accounts: { [PAYER]: '0.008' } })
      const taken = takeOver(bench)
      const first = bench.call(stream)
      const reply = await taken
      const { client } = bench.call(stream)
      await client.over
      expect([client.status, client.headers['x-should-retry'], client.headers['retry-after']]).toEqual([
        429,
        'true',
        '5',
      ])
      expect(JSON.parse(client.text).error).toMatchObject({
        code: 'credits_on_hold',
        type: 'rate_limit_error',
      })
      await send(reply, ...WHOLE_REPLY)
      await bench.event('request-end', first)
      bench.upstream.script(WHOLE_REPLY)
      const again = bench.call(stream)
      await again.client.over
      const end = await bench.event('request-end', again)
      expect(
        await assertOneCharge({ requestId: again.id, wire: again.client.text, end, ledger: bench.ledger }),
      ).toBe('0.002')
    },
  )
})

describe('a call without max_tokens', () => {
  it('does not block its account: the next call fits next to it', async () => {
    // A model with up to 200,000 output tokens, for 4.8 credits. Two holds for 4,096 of them fit in 0.3.
    const bench = await start({ accounts: { [PAYER]: '0.3' }, model: { maxOutputTokens: 200_000 } })
    const taken = takeOver(bench)
    const first = bench.call(true, { max_tokens: undefined })
    const reply = await taken
    bench.upstream.script(WHOLE_REPLY)
    const second = bench.call(true, { max_tokens: undefined })
    await second.client.over
    expect(second.client.text).toContain('[DONE]')
    await send(reply, ...WHOLE_REPLY)
    await first.client.over
    await bench.event('request-end', first)
    // (0.001 + 22 x 0.00001 + 4,096 x 0.00002) x 1.2 + 0.0005, each.
    expect(bench.audit.holds.map(({ request }) => request.amount)).toEqual([100_268_000n, 100_268_000n])
  })
})

describe('simultaneous calls on one account', () => {
  /**
   * 22 prompt and 100 output tokens: the hold, and also the provider's report if a test wants no remainder.
   */
  const USED = { prompt_tokens: 22, completion_tokens: 100 }
  const HELD = '0.00222'

  async function crowd(options: BenchOptions) {
    const bench = await start({ model: { prices: { input: '10', output: '20' } }, ...options })
    const agent = new Agent({ connections: 1_000, pipelining: 1 })
    onTestFinished(() => agent.close())
    let calls = 0
    const ask = async () => {
      const response = await request(`http://127.0.0.1:${bench.port}/chat/completions`, {
        dispatcher: agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${OWN_KEY}`,
          'content-type': 'application/json',
          'x-request-id': `crowd-${++calls}`,
        },
        body: JSON.stringify({
          model: MODEL,
          messages: [{ role: 'user', content: PROMPT }],
          max_tokens: 100,
        }),
      })
      const text = await response.body.text()
      return {
        status: response.statusCode,
        code: response.statusCode === 200 ? 'whole' : JSON.parse(text).error.code,
      }
    }
    return { bench, ask }
  }

  const count = (answers: readonly { code: string }[]) =>
    Object.fromEntries(
      [...new Set(answers.map(({ code }) => code))].map((code) => [
        code,
        answers.filter((each) => each.code === code).length,
      ]),
    )

  it('get exactly as many as fit: of 1,000 with credit for 100, the first 100', async () => {
    const { bench, ask } = await crowd({ accounts: { [PAYER]: '0.222' } })
    const gate = createDeferred()
    bench.upstream.script(async (reply) => {
      await gate.promise
      const bytes = JSON.stringify(body({ usage: USED }))
      reply.head(200, { 'content-type': 'application/json', 'content-length': String(bytes.length) })
      await reply.write(bytes)
    })
    const answers = Array.from({ length: 1_000 }, ask)
    await bench.until(() => bench.events.filter(({ type }) => type === 'request-end').length === 900)
    expect(bench.audit.openHolds.size).toBe(100)
    gate.resolve()
    expect(count(await Promise.all(answers))).toEqual({ whole: 100, credits_on_hold: 900 })
    await bench.until(() => bench.events.filter(({ type }) => type === 'request-end').length === 1_000)
    expect(await bench.ledger.balance(PAYER, CONTEXT)).toEqual({ posted: 0n, held: 0n, available: 0n })
    expect(bench.audit.settlements.size).toBe(100)
    expect(bench.audit.mostHeld.get(PAYER)).toBe(nanos(HELD) * 100n)
  }, 120_000)

  it('that retry as told use all the credit, whatever remains of each hold', async () => {
    // Half of each hold is used, so 200 calls fit one after the other, the last of them only just.
    const { bench, ask } = await crowd({ accounts: { [PAYER]: '0.222' } })
    const bytes = JSON.stringify(body({ usage: { prompt_tokens: 11, completion_tokens: 50 } }))
    bench.upstream.script(async (reply) => {
      reply.head(200, { 'content-type': 'application/json', 'content-length': String(bytes.length) })
      await reply.write(bytes)
    })
    const untilAnswered = async () => {
      for (;;) {
        const answer = await ask()
        if (answer.code !== 'credits_on_hold') return answer
      }
    }
    const answers = await Promise.all(Array.from({ length: 1_000 }, untilAnswered))
    // After 199 of them 0.00111 is left for a hold of 0.00222.
    expect(count(answers)).toEqual({ whole: 199, insufficient_credits: 801 })
    await bench.until(() => {
      const ends = bench.events.filter(({ type }) => type === 'request-end').length
      return ends === bench.events.filter(({ type }) => type === 'request-start').length
    })
    expect(await bench.ledger.balance(PAYER, CONTEXT)).toEqual({
      posted: 1_110_000n,
      held: 0n,
      available: 1_110_000n,
    })
  }, 120_000)
})

describe('many simultaneous calls under neverOverdraw', () => {
  it('take no account below zero, whatever is reported', async () => {
    // The prompt is held at its whole context, which is as large as its estimate elsewhere.
    const bench = await start({
      accounts: { [PAYER]: '0.02' },
      router: { neverOverdraw: true },
      model: { contextLength: 22 },
    })
    bench.upstream.script([
      HEAD,
      TOKENS,
      FINISH,
      { write: 'data: {"choices":[],"usage":{"prompt_tokens":900,"completion_tokens":9000}}\n\n' },
      DONE,
      'end',
    ])
    const calls = Array.from({ length: 20 }, (_, index) => bench.call(index % 2 === 0))
    await Promise.all(calls.map(({ client }) => client.over))
    for (const call of calls) {
      const end = await bench.event('request-end', call)
      const charged = await assertOneCharge({
        requestId: call.id,
        wire: call.client.text,
        end,
        ledger: bench.ledger,
      })
      expect(charged).toBe(call.client.status === 200 ? HOLD : '0')
    }
    expect(bench.audit.settlements.size).toBe(4)
    expect([...bench.audit.lowest.values()].filter((amount) => amount < 0n)).toEqual([])
  })
})
