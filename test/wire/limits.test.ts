import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { DEFAULTS, parseCredits, type RouterOptions } from '../../src/index.js'
import { ChatClient } from '../helpers/chat-client.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  sse,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { turns } from '../helpers/stepped-clock.js'
import { RawClient } from '../http/fixture.js'
import { chat, headOf } from './requests.js'
import { API_KEY, ask, framesOf, providerReply, tokens, usageChunk, WireService } from './service.js'

/** The file and title of the test that exceeds each limit, here or closer to the code that enforces it. */
const TESTS: Readonly<Record<string, readonly [file: string, name: string]>> = {
  bodyBytes: ['http/body.test.ts', 'is refused by its declared length before it is read'],
  bodyBytesInFlight: ['wire/limits.test.ts', 'and release the bytes it counted'],
  memoryBytes: ['wire/memory.test.ts', 'while requests fill the memory'],
  bodyIdleMs: ['http/body.test.ts', 'after bodyIdleMs of silence'],
  bodyMs: ['wire/limits.test.ts', 'end an upload that never pauses after bodyMs'],
  lookUps: ['wire/look-ups.test.ts', 'never exceed concurrency.lookUps'],
  storeMs: ['wire/store-deadlines.test.ts', 'leads to a 503 if %s does not answer'],
  connectMs: ['faults/cases/http-errors.ts', 'connectMs: 20'],
  idleMs: ['faults/cases/broken.ts', 'the provider falls silent after the first token'],
  tokenMs: ['faults/cases/broken.ts', 'the provider sends comments and no further token'],
  totalMs: ['faults/cases/stopped.ts', 'totalMs: 10_000'],
  clientStallMs: ['faults/cases/left-calls.ts', 'the client reads nothing for too long'],
  eventBytes: ['wire/limits.test.ts', 'an event too long after a token'],
  replyBytes: ['wire/limits.test.ts', 'a stream that never ends'],
  settleWaitMs: ['faults/cases/ledger.ts', 'the reply is sent before the ledger has answered'],
  settleMs: ['faults/cases/ledger.ts', 'until the settlement is abandoned; the event reconciles'],
  openStreamAfterMs: ['wire/limits.test.ts', 'opens a silent stream, and comments keep it alive'],
  holdOutputTokens: ['faults/cases/overdraw.ts', 'holdOutputTokens: 50'],
  attempts: ['wire/limits.test.ts', 'of %i with five routes'],
  inFlight: ['wire/admission.test.ts', 'a process at its limit'],
  inFlightPerAccount: ['wire/admission.test.ts', 'an account at its limit'],
  inFlightPerCredential: ['wire/admission.test.ts', 'a credential at its limit'],
}

test.each(Object.entries(TESTS))('the limit %s has a test', (_limit, [file, name]) => {
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  expect(text.split(name).length).toBeGreaterThan(file === 'wire/limits.test.ts' ? 2 : 1)
})

test('every limit with a default is listed in this test', () => {
  expect(Object.keys(TESTS)).toEqual(
    expect.arrayContaining(Object.values(DEFAULTS).flatMap((bounds) => Object.keys(bounds))),
  )
})

describe('request body limits', () => {
  test('end an upload that never pauses after bodyMs, and release the bytes it counted', async () => {
    const service = await WireService.start({
      timeouts: { bodyMs: 30_000 },
      sizes: { bodyBytesInFlight: 1_000 },
    })
    service.upstream.script(answerJson(providerReply()))
    const slow = await RawClient.connect(service.host.port)
    slow.write(`${headOf(API_KEY, 900)}${' '.repeat(850)}`)
    while (service.clock.pending < 2) await turns(1)
    const crowded = await service.post(ask({ user: 'x'.repeat(200) }))
    expect([crowded.status, await crowded.json()]).toMatchObject([503, { error: { code: 'overloaded' } }])
    for (let at = 0; at < 30_000; at += 10_000) {
      slow.write(' ')
      await turns(20)
      await service.clock.elapse(10_000)
    }
    await slow.untilClosed()
    expect(slow.received).toMatch(/^HTTP\/1\.1 408 /)
    const after = await service.post(ask({ user: 'x'.repeat(200) }))
    expect(after.status).toBe(200)
    await after.text()
    await service.close()
  })

  test('block only the account whose bodies never end', async () => {
    const service = await WireService.start({ sizes: { bodyBytesInFlight: 4_000 } })
    service.upstream.script(answerJson(providerReply()))
    const halves = await Promise.all(Array.from({ length: 4 }, () => RawClient.connect(service.host.port)))
    for (const half of halves) half.write(`${headOf(tokens.poor, 1_000)}${' '.repeat(900)}`)
    while (!halves.some(({ received }) => received.includes('"rate_limited"'))) await turns(1)
    const own = await service.post(ask({ padding: 'x'.repeat(900) }), {
      authorization: `Bearer ${tokens.poor}`,
    })
    expect([own.status, own.headers['retry-after']]).toEqual([429, '1'])
    await own.text()
    const other = await service.post(ask({ user: 'x'.repeat(500) }))
    expect(other.status).toBe(200)
    await other.text()
    for (const half of halves) half.socket.destroy()
    while (service.router.inFlight > 0) await turns(1)
    await service.close()
  })
})

describe('the limit of attempts', () => {
  test.each([
    [1, 1],
    [3, 3],
    [9, 5],
  ])('of %i with five routes calls %i of them, and reports the last error', async (attempts, dials) => {
    const service = await WireService.start({ providers: 5, routing: { attempts } })
    const statuses = [503, 500, 429, 500, 408]
    for (const [index, upstream] of service.upstreams.entries()) {
      upstream.script(answerJson({ error: { message: 'no' } }, statuses[index]))
    }
    const response = await service.post(ask())
    const told = { 1: 503, 3: 429, 5: 504 }[dials]
    expect(response.status).toBe(told)
    await response.text()
    expect(service.upstreams.map(({ requests }) => requests.length)).toEqual(
      statuses.map((_status, index) => (index < dials ? 1 : 0)),
    )
    expect(await service.posted('alice')).toBe(1_000_000_000n)
    await service.close()
  })
})

describe('the limits eventBytes and replyBytes', () => {
  const long = textChunk('x'.repeat(5_000))
  const scripts: readonly (readonly [string, RouterOptions['sizes'], boolean, Script, boolean])[] = [
    ['an event too long at the start', { eventBytes: 2_000 }, true, answerEvents([long]), false],
    [
      'an event too long after a token',
      { eventBytes: 2_000 },
      true,
      answerEvents([textChunk('a'), long]),
      true,
    ],
    ['a line that never ends', { eventBytes: 2_000 }, true, endless('data: ', 'x'.repeat(1_000)), false],
    [
      'a body too long',
      { replyBytes: 2_000 },
      false,
      answerJson(providerReply({ pad: 'x'.repeat(5_000) })),
      false,
    ],
    [
      'a stream that never ends',
      { replyBytes: 20_000 },
      true,
      endless(sse([textChunk('a')]), sse([textChunk('b')])),
      true,
    ],
    ['a stream of comments that never ends', { replyBytes: 20_000 }, true, endless('', ': hm\n\n'), false],
  ]

  test.each(scripts)('make %s an unreadable reply', async (_what, sizes, stream, script, begun) => {
    const service = await WireService.start({ sizes })
    service.upstream.script(script)
    const response = await service.post(ask({ stream }))
    expect(response.status).toBe(begun ? 200 : 502)
    const text = await response.text()
    const { error } = (begun ? framesOf(text).at(-1) : JSON.parse(text)) as { error: object }
    expect(error).toMatchObject({ code: 'provider_invalid_response', source: 'provider' })
    expect(text).not.toContain('[DONE]')
    await service.asked[0]!.closed
    // The part of a stream before it grew too long is charged: its caller requested it.
    const isCharged = (await service.posted('alice')) !== 1_000_000_000n
    expect(isCharged).toBe(begun)
    await service.close()
  })

  test('do not request a body that is too long from another provider, which would cost as much', async () => {
    const service = await WireService.start({ providers: 2, sizes: { replyBytes: 2_000 } })
    for (const upstream of service.upstreams) {
      upstream.script(answerJson(providerReply({ pad: 'x'.repeat(5_000) })))
    }
    const response = await service.post(ask())
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ error: { code: 'provider_invalid_response' } })
    expect(service.upstreams.map(({ requests }) => requests.length)).toEqual([1, 0])
    expect(service.router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
    await service.close()
  })

  test('charge a client for the part it received of a stream that is too long, without blaming the route', async () => {
    const service = await WireService.start({ sizes: { replyBytes: 20_000 } })
    const piece = textChunk('twenty bytes of text')
    service.upstream.script(endless(sse([piece]), sse([piece])))
    const text = await (await service.post(ask({ stream: true, max_tokens: 10_000 }))).text()
    const got = framesOf(text).filter((frame) => 'choices' in frame).length
    expect(got).toBeGreaterThan(50)
    const { error } = framesOf(text).at(-1) as { error: { metadata: { usage: Record<string, unknown> } } }
    expect(error.metadata.usage).toMatchObject({ completion_tokens: got * 5, charge: { basis: 'estimated' } })
    const cost = parseCredits(String(error.metadata.usage.cost))
    expect(cost).toBeGreaterThan(0n)
    expect(await service.posted('alice')).toBe(1_000_000_000n - cost)
    expect(service.router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
    await service.close()
  })
})

describe('the limit openStreamAfterMs', () => {
  test('opens a silent stream, and comments keep it alive until the reply arrives', async () => {
    const service = await WireService.start()
    let reply!: Parameters<Extract<Script, (...args: never) => unknown>>[0]
    const asked = service.upstream.nextRequest()
    service.upstream.scriptOnce((given) => {
      reply = given
    })
    const client = new ChatClient(chat(service, API_KEY, { stream: true }))
    await asked
    reply.head(200, { 'content-type': 'text/event-stream' })
    await reply.write(sse([{ ...textChunk(''), choices: [{ index: 0, delta: { role: 'assistant' } }] }]))
    await service.clock.elapse(14_999)
    await turns(20)
    expect(client.status).toBeUndefined()
    await service.clock.elapse(1)
    await client.receives(': keep-alive\n\n')
    expect(client.status).toBe(200)
    expect(client.text).toBe(': keep-alive\n\n')
    await service.clock.elapse(15_000)
    await client.receives(': keep-alive\n\n: keep-alive\n\n')
    await reply.write(sse([textChunk('Hi'), finishChunk(), usageChunk(), '[DONE]']))
    reply.end()
    await client.over
    expect(client.complete).toBe(true)
    expect(client.text).toMatch(/^(?:: keep-alive\n\n){2}data: \{.*"role":"assistant"/)
    expect(client.text).toMatch(/data: \[DONE\]\n\n$/)
    await service.close()
  })

  test('does not open a stream whose provider fails first', async () => {
    const service = await WireService.start()
    const asked = service.upstream.nextRequest()
    service.upstream.scriptOnce(['stall'])
    const client = new ChatClient(chat(service, API_KEY, { stream: true }))
    await asked
    await service.clock.elapse(14_999)
    await service.upstream.close()
    await client.over
    expect(client.status).toBe(502)
    await service.close()
  })
})

/** A stream that continues until it is aborted. */
function endless(start: string, piece: string): Script {
  return async (reply) => {
    reply.head(200, { 'content-type': 'text/event-stream' })
    await reply.write(start)
    while (reply.open) await reply.write(piece)
  }
}
