import { afterEach, describe, expect, it } from 'vitest'
import type { Principal, RouterOptions } from '../../src/index.js'
import type { Limit, MemoryModel } from '../../src/stores.js'
import { createDeferred } from '../helpers/deferred.js'
import type { Script } from '../helpers/scripted-upstream.js'
import { MODEL, providerReply, WireService } from './service.js'

/** A prompt of 5 bytes, at most 16 and 200 tokens more. */
const PROMPT = 221n * 1_000n
const TOKEN = 2_000n
const LISTED: MemoryModel = { id: MODEL, prices: { input: '1', output: '2' }, maxOutputTokens: 16_384 }
const hold = (output: number): bigint => PROMPT + BigInt(output) * TOKEN
const LEAST = hold(256)
const HELLO = { model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }
const SECRET_BALANCE = '0.654321'

let service: WireService
afterEach(() => service.close())

const budget = (amount: bigint, more: Partial<Limit> = {}): Limit => ({
  id: 'budget',
  unit: 'credits',
  amount,
  per: 'total',
  ...more,
})

interface Started {
  readonly limits?: readonly Limit[]
  readonly model?: Partial<MemoryModel>
  readonly scopes?: readonly string[]
  readonly balance?: string
  readonly router?: Partial<RouterOptions>
}

/** Starts a service whose only caller pays from `carol`: with an API key, or with an access token that has some scopes. */
async function start({ balance = '1000', limits = [], model = {}, router = {}, scopes }: Started) {
  const bearer = { account: 'carol', credentialId: 'carols', limits }
  const app = { id: 'app-1', markup: { basisPoints: 0 }, allowedModels: [MODEL] }
  const principal: Principal =
    scopes === undefined
      ? { kind: 'api-key', ...bearer }
      : { kind: 'access-token', ...bearer, app, scopes: ['models.run', ...scopes] }
  service = await WireService.start({
    models: [{ ...LISTED, ...model }],
    router: () => ({ credentials: { resolve: () => ({ ok: true, principal }) }, ...router }),
  })
  service.ledger.credit('carol', balance)
  service.upstream.script(replies)
}

const replies: Script = async (reply) => {
  reply.head(200, { 'content-type': 'application/json' })
  await reply.write(JSON.stringify(providerReply()))
  reply.end()
}

async function ask(body: object = {}): Promise<{ status: number; limit: unknown; hold: bigint | undefined }> {
  const { status } = await service.post({ ...HELLO, ...body })
  const { holdAmount, outputLimit } = await service.event('request-end')
  const sent = service.asked.at(-1)?.body as { max_tokens?: number } | undefined
  expect(outputLimit).toBe(sent?.max_tokens)
  return { status, limit: sent?.max_tokens, hold: holdAmount }
}

describe('a call without an output limit', () => {
  it("gets the model's maximum if a quarter of its budget covers that", async () => {
    await start({ limits: [budget(4n * hold(16_384))] })
    expect(await ask()).toEqual({ status: 200, limit: 16_384, hold: hold(16_384) })
  })

  it('gets as much as a quarter of its budget, or of its balance if less, covers', async () => {
    await start({ limits: [budget(4n * hold(9_000))] })
    expect(await ask()).toEqual({ status: 200, limit: 9_000, hold: hold(9_000) })
    await service.close()
    // A quarter of 0.072884 is the hold of 9,000 tokens.
    await start({ balance: '0.072884', router: { neverOverdraw: true } })
    expect(await ask()).toEqual({ status: 200, limit: 9_000, hold: hold(9_000) })
  })

  it('gets the usual number from a budget that covers it, but not four times', async () => {
    await start({ limits: [budget(hold(4_096) + 3n * LEAST)] })
    expect(await ask()).toEqual({ status: 200, limit: 4_096, hold: hold(4_096) })
  })

  it('leaves the prompt its part of the context', async () => {
    await start({ limits: [budget(10n ** 12n)], model: { contextLength: 5_000 } })
    const { limit } = await ask({ messages: [{ role: 'user', content: 'word '.repeat(800) }] })
    expect(limit).toBeGreaterThan(3_200)
    expect(limit).toBeLessThan(4_200)
  })

  it('gets the number that the model states', async () => {
    await start({ limits: [budget(10n ** 12n)], model: { defaultOutputTokens: 777 } })
    expect(await ask()).toMatchObject({ status: 200, limit: 777 })
  })

  it('is refused if its credit does not cover 256 tokens, and is told what would fit', async () => {
    await start({ limits: [budget(LEAST - 1n)] })
    const refused = await service.post(HELLO)
    const { error } = JSON.parse(await refused.text())
    expect([refused.status, error.code]).toEqual([402, 'budget_exceeded'])
    expect(error.message).toContain('It would fit with max_tokens: 255.')
    expect((await service.post({ ...HELLO, max_tokens: 255 })).status).toBe(200)
  })

  it.each([
    ['budget', { limits: [budget(4n * LEAST)] }],
    ['balance', { balance: '0.002932', router: { neverOverdraw: true } }],
  ])('fits beside three others in a %s that covers four times the minimum', async (_name, options) => {
    await start(options)
    const gate = createDeferred()
    service.upstream.script(async (reply, request) => {
      await gate.promise
      await replies(reply, request)
    })
    const calls = Array.from({ length: 4 }, () => service.post(HELLO))
    await expect.poll(() => service.asked.length).toBe(4)
    gate.resolve()
    for (const { status } of await Promise.all(calls)) expect(status).toBe(200)
    expect(service.asked.map(({ body }) => (body as { max_tokens: number }).max_tokens)).toEqual(
      Array(4).fill(256),
    )
  })
})

describe('an app that may not read the balance', () => {
  it('gets the same output whatever balance its user has', async () => {
    for (const balance of ['1000', '0.04']) {
      await start({ balance, scopes: [], limits: [budget(4n * hold(9_000))] })
      expect(await ask()).toMatchObject({ status: 200, limit: 9_000 })
      await service.close()
      await start({ balance, scopes: [], router: { neverOverdraw: true } })
      expect(await ask()).toMatchObject({ status: 200, limit: 4_096 })
      await service.close()
    }
    await start({})
  })

  const apis = [
    ['/chat/completions', { ...HELLO, max_tokens: 9_000_000 }],
    ['/responses', { model: MODEL, input: 'Hello', max_output_tokens: 9_000_000 }],
    ['/messages', { ...HELLO, max_tokens: 9_000_000 }],
  ] as const
  const variants = apis.flatMap(([path, body]) =>
    [false, true].map((stream) => [path, stream, { ...body, stream }] as const),
  )

  it.each(variants)(
    'is told no figure of the balance on %s (stream: %s), nor by a repeat',
    async (path, _stream, body) => {
      const answers = new Set<string>()
      for (const balance of [SECRET_BALANCE, '0.000001', '2']) {
        await start({ balance, scopes: [], model: { maxOutputTokens: 10_000_000 } })
        for (let repeat = 0; repeat < 2; repeat++) {
          const response = await service.host.request(path, {
            method: 'POST',
            headers: {
              authorization: 'Bearer app',
              'content-type': 'application/json',
              'idempotency-key': 'one',
              'x-request-id': 'request-1',
            },
            body: JSON.stringify(body),
          })
          expect(response.status).toBe(402)
          const text = await response.text()
          const { date: _, ...headers } = Object.fromEntries(Object.entries(response.headers))
          expect(text).toContain('The account that pays for this app has too few free credits')
          answers.add(`${text} ${JSON.stringify(headers)}`)
        }
        await service.close()
      }
      expect([...answers]).toHaveLength(1)
      await start({})
    },
  )

  it('is told about its own budget before the balance, and about its rate after it', async () => {
    const rate: Limit = { id: 'rate', unit: 'requests', amount: 0n, per: 'minute' }
    const codeFor = async (limits: readonly Limit[]) => {
      await start({ balance: '0.000001', scopes: [], limits })
      const response = await service.post({ ...HELLO, max_tokens: 1_000 })
      const { error } = JSON.parse(await response.text())
      await service.close()
      return error.code
    }
    expect(await codeFor([rate, budget(1n)])).toBe('budget_exceeded')
    expect(await codeFor([rate, budget(1n, { of: 'app' })])).toBe('budget_exceeded')
    expect(await codeFor([rate, budget(1n, { of: 'account' })])).toBe('insufficient_credits')
    expect(await codeFor([rate])).toBe('insufficient_credits')
    await start({})
  })

  it('is told the figures if it has the scope', async () => {
    await start({ balance: SECRET_BALANCE, scopes: ['credits.read'], model: { maxOutputTokens: 10_000_000 } })
    const response = await service.post({ ...HELLO, max_tokens: 9_000_000 })
    expect([response.status, (await response.text()).includes(SECRET_BALANCE)]).toEqual([402, true])
  })
})
