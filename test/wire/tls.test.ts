import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { entryOf, wireCharge } from '../helpers/charge-assertions.js'
import { nanos } from '../helpers/decimals.js'
import { createDeferred } from '../helpers/deferred.js'
import type { HostResponse } from '../helpers/listen-http.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type ScriptedReply,
  sse,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { textOf } from '../helpers/stream-text.js'
import { ask, BASE_COST, framesOf, providerReply, usageChunk, WireService } from './service.js'

/** Longer than many TLS records of at most 16 KiB each. */
const LONG = 'wörld \u{1f600} '.repeat(20_000)

let service: WireService

beforeEach(async () => {
  service = await WireService.start({ tls: true })
})
afterEach(async () => {
  await service.close()
  vi.unstubAllEnvs()
})

const requestIdOf = (response: HostResponse) => String(response.headers['x-request-id'])

async function costOf(response: HostResponse): Promise<bigint | undefined> {
  await service.event('request-end', requestIdOf(response))
  const entry = await entryOf(service.ledger, requestIdOf(response))
  return entry?.charge?.cost
}

describe('a provider over TLS', () => {
  beforeEach(() => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  })

  test('is relayed as JSON, and charged', async () => {
    const message = { role: 'assistant', content: LONG }
    service.upstream.script(
      answerJson(providerReply({ choices: [{ index: 0, message, finish_reason: 'stop' }] })),
    )
    const response = await service.post(ask())
    const body = await response.text()
    expect(response.status).toBe(200)
    expect(JSON.parse(body).choices[0].message.content).toBe(LONG)
    expect(wireCharge(body)?.cost).toBe(nanos(BASE_COST))
    expect(await costOf(response)).toBe(nanos(BASE_COST))
  })

  test('is relayed as a stream, and charged', async () => {
    service.upstream.script(
      answerEvents([textChunk('Hello, '), textChunk(LONG), finishChunk(), usageChunk()]),
    )
    const response = await service.post(ask({ stream: true }))
    const stream = await response.text()
    expect(textOf(stream)).toBe(`Hello, ${LONG}`)
    expect(stream).toMatch(/data: \[DONE\]\n\n$/)
    expect(wireCharge(stream)?.cost).toBe(nanos(BASE_COST))
    expect(await costOf(response)).toBe(nanos(BASE_COST))
  })

  test('has its connections reused', async () => {
    service.upstream.script(answerJson(providerReply()))
    for (let call = 0; call < 3; call++) await (await service.post(ask())).text()
    expect(service.upstream.connections).toBe(1)
  })

  test.each([
    ['resets the connection', (reply: ScriptedReply) => reply.reset()],
    ['closes the connection', (reply: ScriptedReply) => reply.hangUp()],
    ['closes the connection without a close_notify', (reply: ScriptedReply) => reply.cutOff()],
  ])('that %s in the middle of a stream charges nothing and reports an error', async (_what, breakOff) => {
    const { promise: isRead, resolve: read } = createDeferred<void>()
    service.upstream.script(async (reply) => {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(sse([textChunk('Hello')]))
      await isRead
      breakOff(reply)
    })
    const response = await service.post(ask({ stream: true }))
    response.body.once('data', () => read())
    const stream = await response.text()
    expect(textOf(stream)).toBe('Hello')
    expect(framesOf(stream).at(-1)).toMatchObject({ error: { code: 'provider_error' } })
    expect(wireCharge(stream)?.cost).toBe(0n)
    expect(await costOf(response)).toBeUndefined()
  })

  test('whose reply ends with the connection is not trusted if it is cut off', async () => {
    service.upstream.script(async (reply) => {
      reply.head(200, { 'content-type': 'application/json', connection: 'close' })
      await reply.write(JSON.stringify(providerReply()).slice(0, -1))
      reply.cutOff()
    })
    const response = await service.post(ask())
    expect(response.status).toBe(502)
    expect(await costOf(response)).toBeUndefined()
  })
})

test('a provider with an untrusted TLS certificate gets no request, and nothing is charged', async () => {
  const response = await service.post(ask())
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({ error: { code: 'provider_error' } })
  expect(service.asked).toEqual([])
  expect(await costOf(response)).toBeUndefined()
})
