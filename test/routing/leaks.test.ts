import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { createSecret, generateEnvelopeKey, keyring, memoryIdempotency } from '../../src/index.js'
import {
  answerJson,
  type Script,
  type ScriptedRequest,
  sse,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { createSteppedClock, type SteppedClock } from '../helpers/stepped-clock.js'
import { ALICE, type Answer, APP, answers, perform, type Service, startService } from './service.js'

const HOST_KEY = 'sk-host-7d1f0c5e9ab24c6d'
/** Nothing about it looks like a key. */
const PLAIN_HOST_KEY = 'correct~horse'
const ROUTE_KEY = 'rk-route-9be1724fd0c3458a'
const CALLERS_KEY = 'battery~staple'
const jwk = await generateEnvelopeKey('2026-11')
const envelopes = keyring([jwk])

let service: Service
let clock: SteppedClock
let printed: string[]
const replies: Answer[] = []

beforeEach(() => {
  printed = []
  clock = createSteppedClock()
  replies.length = 0
  const print = (...values: unknown[]) => {
    printed.push(values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' '))
    return true
  }
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    vi.spyOn(console, method).mockImplementation(print)
  }
  vi.spyOn(process.stderr, 'write').mockImplementation(print)
  vi.spyOn(process, 'emitWarning').mockImplementation(print)
})

afterEach(async () => {
  vi.restoreAllMocks()
  await service.close()
})

/** Repeats its credential in every spelling. */
function echo({ headers }: ScriptedRequest): string {
  const credential = headers.authorization ?? ''
  const bare = credential.replace('Bearer ', '')
  const spellings = [credential, bare, Buffer.from(bare).toString('base64'), encodeURIComponent(bare)]
  return `I was sent ${spellings.join(' or ')}, key=${bare}, {"api_key":"${bare}"}, (${bare}).`
}

const echoing: Record<string, (said: string) => Script> = {
  ...Object.fromEntries(
    [400, 401, 403, 404, 413, 422, 429, 500, 503].map((status) => [
      `status ${status}`,
      (said: string) => answerJson({ error: { message: said, param: said, code: said } }, status),
    ]),
  ),
  'a plain body': (said) => answerJson(said, 400, { 'content-type': 'text/plain' }),
  headers: (said) => answerJson({ error: 'no' }, 400, { 'x-debug': said, 'set-cookie': said }),
  'a frame': (said) => [
    { head: 200, headers: { 'content-type': 'text/event-stream' } },
    { write: sse([{ error: { message: said, code: 400 } }]) },
    'end',
  ],
  'a frame in the middle': (said) => [
    { head: 200, headers: { 'content-type': 'text/event-stream' } },
    { write: sse([textChunk('Once'), { error: { message: said, code: 400 } }]) },
    'end',
  ],
  'an unreadable reply': (said) => answerJson(`{"choices": ${said}`),
}

async function ask(...request: Parameters<Service['ask']>): Promise<Answer> {
  // A route that keeps failing is called again after this time.
  await clock.elapse(60_000)
  const answer = await service.ask(...request)
  replies.push(answer)
  await service.end(answer)
  return answer
}

function seal(more: object = {}): Promise<string> {
  return sealProviderKey(
    { key: CALLERS_KEY, provider: 'p0', account: 'alice', ...more },
    envelopes.publicKeys().keys[0]!,
  )
}

/** The spellings of a secret that would still reveal it. */
function spellings(secret: string): string[] {
  return [secret, Buffer.from(secret).toString('base64').replace(/=+$/, ''), encodeURIComponent(secret)]
}

function holds(text: string, secret: string): boolean {
  return spellings(secret).some((spelling) => text.includes(spelling))
}

const upstreamTraffic = (index: number) =>
  service.upstreams[index]!.requests.map(({ headers, path, text }) => ({ headers, rest: path + text }))

describe('a secret is seen only by its own provider', () => {
  it('despite everything that providers reply, callers send and stores do', async () => {
    const store = memoryIdempotency()
    const kept: unknown[] = []
    service = await startService({
      routes: [
        { apiKey: PLAIN_HOST_KEY, byok: 'yes' },
        { apiKey: HOST_KEY, secret: createSecret(ROUTE_KEY), byok: 'yes' },
        { apiKey: HOST_KEY },
      ],
      balance: '100',
      router: {
        clock,
        envelopes,
        byokFee: { flat: '0.0001' },
        // A host that logs everything it gets.
        onEvent: (event) => console.log(inspect(event, { depth: 20, showHidden: true })),
        idempotency: {
          store: {
            claim: (request, context) => {
              kept.push(request)
              return store.claim(request, context)
            },
            complete: (...call) => {
              kept.push(call)
              return store.complete(...call)
            },
            abandon: (claim, context) => store.abandon(claim, context),
          },
        },
      },
    })
    const sent: string[] = []
    const sealed = async (more: object = {}) => {
      const envelope = await seal(more)
      sent.push(envelope)
      return envelope
    }

    for (const stream of [true, false]) {
      for (const say of Object.values(echoing)) {
        for (const upstream of service.upstreams) {
          upstream.script((reply, request) => perform(say(echo(request)), reply))
        }
        for (const only of ['p0', 'p1', 'p2']) await ask({ stream, routing: { only: [only] } })
        await ask({ stream }, { authorization: `Bearer ${APP}` })
        await ask({ stream, provider: 'p0', provider_key: await sealed() })
        const key = `repeat-${sent.length}`
        await ask({ stream }, { 'idempotency-key': key })
      }
    }
    for (const [index, upstream] of service.upstreams.entries()) upstream.script(answers(`I am p${index}`))
    for (const stream of [true, false]) {
      await ask({ stream, session_id: 's', user: 'u' })
      await ask({ stream, provider: 'p0', provider_key: await sealed() })
      await ask({ stream, provider: 'p0', provider_key: await sealed({ account: 'bob' }) })
      await ask({ stream, provider: 'p1', provider_key: await sealed() })
      await ask({ stream, provider: 'p0', provider_key: await sealed({ expiresAt: Date.now() - 5_000 }) })
      await ask({ stream, provider: 'p0', provider_key: (await sealed()).slice(0, -1) })
      await ask({ stream, provider: 'p0', provider_key: CALLERS_KEY })
      await ask({ stream, provider: CALLERS_KEY, provider_key: await sealed() })
      await ask({ stream, provider: 'p0', provider_key: [CALLERS_KEY] })
      await ask({ stream, api_key: CALLERS_KEY })
      await ask({ stream }, { authorization: `Bearer ${ALICE}, Bearer ${APP}` })
      await ask({ stream }, { authorization: `Basic ${CALLERS_KEY}` })
      await ask({ stream }, { 'idempotency-key': 'once' })
      await ask(
        { stream },
        { 'idempotency-key': 'once', cookie: `token=${CALLERS_KEY}`, 'x-api-key': CALLERS_KEY },
      )
    }
    expect(replies.filter(({ status }) => status === 200).length).toBeGreaterThan(10)
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 400, 401, 422, 429, 502, 503]))

    const context = { requestId: 'test', signal: new AbortController().signal }
    const { entries } = await service.ledger.entries({ limit: 1_000 }, context)
    expect(entries.length).toBeGreaterThan(5)
    const sinks = {
      replies: inspect(
        replies.map(({ headers, text }) => ({ headers, text })),
        { depth: 20, maxArrayLength: null, maxStringLength: null },
      ),
      events: JSON.stringify(service.events, (_, value) =>
        typeof value === 'bigint' ? String(value) : value,
      ),
      console: printed.join('\n'),
      ledger: inspect(entries, { depth: 20, maxArrayLength: null }),
      idempotency: inspect(kept, { depth: 20, maxArrayLength: null, maxStringLength: null }),
      router: inspect(service.router, { depth: 20, showHidden: true }) + inspect(service.router.routes()),
      'bodies sent to providers': [0, 1, 2]
        .flatMap((index) => upstreamTraffic(index).map(({ rest }) => rest))
        .join('\n'),
      'other headers sent to providers': [0, 1, 2]
        .flatMap((index) =>
          upstreamTraffic(index).map(({ headers: { authorization: _, ...others } }) => inspect(others)),
        )
        .join('\n'),
    }
    const secrets = { HOST_KEY, PLAIN_HOST_KEY, ROUTE_KEY, CALLERS_KEY, ALICE, APP, privateKey: jwk.d }
    for (const [sink, text] of Object.entries(sinks)) {
      expect(text.length, sink).toBeGreaterThan(10)
      for (const [name, secret] of Object.entries(secrets))
        expect(holds(text, secret), `${name} in ${sink}`).toBe(false)
      for (const envelope of sent)
        expect(text.includes(envelope.slice(0, -1)), `an envelope in ${sink}`).toBe(false)
    }
    const credentials = [0, 1, 2].map(
      (index) => new Set(upstreamTraffic(index).map(({ headers }) => headers.authorization)),
    )
    expect(credentials).toEqual([
      new Set([`Bearer ${PLAIN_HOST_KEY}`, `Bearer ${CALLERS_KEY}`]),
      new Set([`Bearer ${ROUTE_KEY}`]),
      new Set([`Bearer ${HOST_KEY}`]),
    ])
  })

  it('according to a test that would find a leak', async () => {
    service = await startService({ routes: [{ apiKey: PLAIN_HOST_KEY }] })
    service.upstreams[0]!.script((reply, request) =>
      perform(answerJson({ choices: [{ message: { role: 'assistant', content: echo(request) } }] }), reply),
    )
    // A secret that the provider puts into the reply itself stays in the reply.
    expect(holds((await ask()).text, PLAIN_HOST_KEY)).toBe(true)
  })
})
