import { afterEach, describe, expect, it } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { generateEnvelopeKey, keyring, memoryCredentials } from '../../src/index.js'
import type { Limit } from '../../src/stores.js'
import { ANSWER, agent } from '../helpers/agent-upstream.js'
import { nanos } from '../helpers/decimals.js'
import { readResponseStream } from '../helpers/response-events.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  MODEL,
  type ServiceOptions,
  UPSTREAM_KEY,
  UPSTREAM_MODEL,
  WireService,
} from '../wire/service.js'
import { PROVIDERS } from './providers.js'

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape, each member of which is asserted
type Json = Record<string, any>

/** 11 x 2 and 7 x 8 millionths, and the price of the request. */
const COST = nanos('0.000178')
/** 33.33 % of it and 0.0005, rounded up at the ninth place. */
const MARKUP = nanos('0.000559328')
/** For the hold of a call and a few charges. */
const BUDGET = nanos('0.0016')
const BYOK_FEE = nanos('0.0002')
const CALLERS_KEY = 'sk-callers-own-0123456789'
const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const envelopes = keyring([await generateEnvelopeKey('2026-11')])
const [published] = envelopes.publicKeys().keys

interface Answer {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly text: string
}

interface Api {
  readonly path: string
  readonly question: object
  /** Returns the text of a reply, and the usage with its charge. */
  read(text: string, stream: boolean): { readonly said: string; readonly usage: Json }
  /** Returns the error of a body, after checking its shape. */
  error(body: Json): Json
}

const APIS: readonly Api[] = [
  {
    path: '/responses',
    question: { input: 'Hi', max_output_tokens: 50 },
    read(text, stream) {
      const reply = stream ? readResponseStream(text).response : JSON.parse(text)
      return { said: reply.output.at(-1).content[0].text, usage: reply.usage }
    },
    error(body) {
      expect(Object.keys(body)).toEqual(['error'])
      return body.error
    },
  },
  {
    path: '/messages',
    question: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 50 },
    read(text, stream) {
      if (!stream) {
        const reply = JSON.parse(text)
        return { said: reply.content.at(-1).text, usage: reply.usage }
      }
      const events: Json[] = text
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => JSON.parse(line.slice('data: '.length)))
      expect(events.at(-1)).toEqual({ type: 'message_stop' })
      const said = events.map(({ delta }) => delta?.text ?? '').join('')
      return { said, usage: events.at(-2)!.usage }
    },
    error(body) {
      expect(body.type).toBe('error')
      return body.error
    },
  },
]

const CASES = APIS.flatMap((api) =>
  PROVIDERS.flatMap(([label, dialect, adapter]) =>
    [false, true].map((stream) => [api.path, label, stream, api, dialect, adapter] as const),
  ),
)

let service: WireService
afterEach(() => service.close())

describe.each(CASES)('%s, called by %s (stream: %s),', (path, label, stream, api, dialect, adapter) => {
  async function start(options: ServiceOptions = {}): Promise<void> {
    service = await WireService.start({ adapter, ...options })
    service.upstream.script(agent(dialect))
  }

  /** A service whose key has limits. */
  const startLimited = (...limits: readonly Limit[]) =>
    start({
      router: ({ clock }) => ({
        credentials: memoryCredentials(
          { [API_KEY]: { kind: 'api-key', account: 'alice', limits } },
          { clock: clock! },
        ),
      }),
    })

  async function post(more: object = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const response = await service.host.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: MODEL, stream, ...api.question, ...more }),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  async function usageFor(more?: object, headers?: Readonly<Record<string, string>>): Promise<Json> {
    const { status, text } = await post(more, headers)
    expect(status, text).toBe(200)
    const { said, usage } = api.read(text, stream)
    expect(said).toBe(ANSWER)
    return usage
  }

  async function errorFor(more?: object, headers?: Readonly<Record<string, string>>): Promise<Json> {
    const answer = await post(more, headers)
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    return { status: answer.status, headers: answer.headers, ...api.error(JSON.parse(answer.text)) }
  }

  const costs = async (account: string) =>
    (await service.ledger.entries({ account }, CONTEXT)).entries.flatMap(({ charge, kind }) =>
      kind === 'charge' && charge ? [charge.cost] : [],
    )

  it('charges the markup of an app, which its owner earns', async () => {
    await start()
    const usage = await usageFor({}, { authorization: `Bearer ${ACCESS_TOKEN}` })
    expect(usage).toMatchObject({
      cost: 0.000737328,
      charge: { basis: 'reported', base_cost: 0.000178, markup_cost: 0.000559328 },
    })
    expect(await costs('bob')).toEqual([COST + MARKUP])
    expect(await service.posted('bob')).toBe(nanos('1') - COST - MARKUP)
    expect(await service.posted('app-owner')).toBe(MARKUP)
  })

  it('refuses a call above a budget, and counts the amount charged', async () => {
    await startLimited({ id: 'budget', unit: 'credits', amount: BUDGET, per: 'total' })
    const answers: Answer[] = []
    for (;;) {
      const answer = await post()
      if (answer.status !== 200) {
        expect(api.error(JSON.parse(answer.text))).toMatchObject({
          type: 'billing_error',
          code: 'budget_exceeded',
        })
        expect(answer.status).toBe(402)
        break
      }
      answers.push(answer)
    }
    expect(answers.length).toBeGreaterThan(1)
    expect(COST * BigInt(answers.length)).toBeLessThan(BUDGET)
    expect(service.asked).toHaveLength(answers.length)
    expect(await costs('alice')).toEqual(answers.map(() => COST))
  })

  it('refuses a call above a rate, and says when to try again', async () => {
    await startLimited({ id: 'rate', unit: 'requests', amount: 1n, per: 'minute' })
    await usageFor()
    const error = await errorFor()
    expect(error).toMatchObject({ status: 429, type: 'rate_limit_error', code: 'rate_limited' })
    expect(Number(error.headers['retry-after'])).toBeGreaterThan(0)
    expect(await costs('alice')).toEqual([COST])
  })

  it('repeats a call with an Idempotency-Key without charging it again', async () => {
    await start()
    const key = { 'idempotency-key': 'key-1' }
    const first = await post({}, key)
    const again = await post({}, key)
    expect(api.read(again.text, stream)).toMatchObject({ said: ANSWER, usage: { cost: 0.000178 } })
    expect(again.text).toBe(first.text)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await errorFor({ temperature: 0.5 }, key)).toMatchObject({
      status: 422,
      type: 'invalid_request_error',
      code: 'idempotency_mismatch',
    })
    expect(service.asked).toHaveLength(1)
    expect(await costs('alice')).toEqual([COST])
  })

  it('records the session from a header unless the body has one', async () => {
    await start()
    const sessionOf = async (id: string) => (await service.event('request-end', id)).facts?.sessionId
    const header = { 'session-id': 'from-the-header' }
    await usageFor({}, { 'x-request-id': 'request-1', ...header })
    expect(await sessionOf('request-1')).toBe('from-the-header')
    await usageFor({ session_id: 'from-the-body' }, { 'x-request-id': 'request-2', ...header })
    expect(await sessionOf('request-2')).toBe('from-the-body')
    expect(await errorFor({}, { 'session-id': 'two words' })).toMatchObject({
      status: 400,
      code: 'invalid_session_id',
      param: 'session-id',
    })
  })

  describe("with a caller's own provider key", () => {
    const startSealed = () => start({ router: () => ({ envelopes, byokFee: { flat: '0.0002' } }) })
    const seal = async () => ({
      provider: 'p0',
      provider_key: await sealProviderKey({ key: CALLERS_KEY, provider: 'p0', account: 'alice' }, published!),
    })

    if (label === 'aiSdk()') {
      it('refuses the call, since the adapter takes no keys', async () => {
        await startSealed()
        expect(await errorFor(await seal())).toMatchObject({ status: 400, code: 'provider_not_enabled' })
        expect(service.asked).toEqual([])
      })
      return
    }

    it('charges only the fee, and uses no other key', async () => {
      await startSealed()
      const usage = await usageFor(await seal())
      expect(usage).toMatchObject({ cost: 0.0002, is_byok: true })
      expect(await costs('alice')).toEqual([BYOK_FEE])
      const { authorization, 'x-api-key': apiKey } = service.asked[0]!.headers
      expect(authorization ?? apiKey).toContain(CALLERS_KEY)
      expect(JSON.stringify(service.asked[0]!.headers)).not.toContain(UPSTREAM_KEY)
      expect(service.asked[0]!.text).not.toContain('provider')
      expect(service.asked[0]!.text).toContain(UPSTREAM_MODEL)
    })

    it('refuses a key that the provider refuses, free of charge', async () => {
      await startSealed()
      service.upstream.script(answerJson({ error: { message: 'No such key.' } }, 401))
      expect(await errorFor(await seal())).toMatchObject({
        status: 400,
        type: 'invalid_request_error',
        code: 'provider_key_rejected',
      })
      expect(await costs('alice')).toEqual([])
    })

    it('refuses a key that was not encrypted', async () => {
      await startSealed()
      expect(await errorFor({ provider: 'p0', provider_key: CALLERS_KEY })).toMatchObject({
        status: 400,
        code: 'provider_key_not_encrypted',
        param: 'provider_key',
      })
      expect(service.asked).toEqual([])
    })
  })
})
