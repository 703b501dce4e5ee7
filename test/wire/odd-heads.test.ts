import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { anthropic } from '../../src/index.js'
import { entryOf, wireCharge } from '../helpers/charge-assertions.js'
import { nanos } from '../helpers/decimals.js'
import type { HostResponse } from '../helpers/listen-http.js'
import { finishChunk, type Step, sse, textChunk } from '../helpers/scripted-upstream.js'
import { textOf } from '../helpers/stream-text.js'
import { ask, BASE_COST, providerReply, usageChunk, WireService } from './service.js'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const JSON_BODY = JSON.stringify(providerReply())
const STREAM_BODY = `${sse([textChunk('Hello, wörld \u{1f600}!'), finishChunk(), usageChunk()])}data: [DONE]\n\n`

/** A reply as bytes. */
function reply(stream: boolean, headers = ''): string {
  const body = stream ? STREAM_BODY : JSON_BODY
  const type = stream ? 'text/event-stream' : 'application/json'
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** Headers of a length in all. */
function headers(bytes: number, each: number): string {
  const line = (value: number) => `x-filler: ${'x'.repeat(value)}\r\n`
  return line(each).repeat(Math.ceil(bytes / line(each).length))
}

let service: WireService

beforeEach(async () => {
  service = await WireService.start()
})
afterEach(() => service.close())

/** The client's reply, after its charge. */
async function call(steps: readonly Step[], stream: boolean) {
  service.upstream.scriptOnce(steps)
  const response: HostResponse = await service.post(ask({ stream }))
  const body = await response.text()
  const requestId = String(response.headers['x-request-id'])
  await service.event('request-end', requestId)
  const charge = (await entryOf(service.ledger, requestId))?.charge
  return { status: response.status, body, charge }
}

function contentOf(body: string, stream: boolean): unknown {
  return stream ? textOf(body) : JSON.parse(body).choices[0].message.content
}

describe.each([
  ['JSON', false],
  ['a stream', true],
])('as %s', (_mode, stream) => {
  test.each<[string, () => readonly Step[]]>([
    ['an unasked 100 Continue', () => [{ raw: CONTINUE + reply(stream) }]],
    ['a 100 Continue on its own', () => [{ raw: CONTINUE }, { raw: reply(stream) }]],
    [
      'a 100 Continue byte by byte',
      () => [...CONTINUE].map((raw) => ({ raw })).concat({ raw: reply(stream) }),
    ],
    [
      'several interim replies',
      () => [{ raw: `${CONTINUE}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${CONTINUE}${reply(stream)}` }],
    ],
    ['17 KB of headers', () => [{ raw: reply(stream, headers(17_000, 1_000)) }]],
    ['one header of 17 KB', () => [{ raw: reply(stream, headers(17_000, 17_000)) }]],
    ['60 KB of headers', () => [{ raw: reply(stream, headers(60_000, 1_000)) }]],
  ])(
    "a provider's reply after %s is relayed and charged, and its connection used again",
    async (_what, steps) => {
      for (let round = 0; round < 3; round++) {
        const { body, charge, status } = await call(steps(), stream)
        expect(status).toBe(200)
        expect(contentOf(body, stream)).toBe('Hello, wörld \u{1f600}!')
        expect(wireCharge(body)?.cost).toBe(nanos(BASE_COST))
        expect(charge?.cost).toBe(nanos(BASE_COST))
      }
      expect(service.upstream.connections).toBeLessThanOrEqual(2)
    },
  )

  test("a provider's reply whose text looks like an interim reply is not changed", async () => {
    const text = 'HTTP/1.1 100 Continue\r\n\r\n'
    const body = stream
      ? `${sse([textChunk(text), finishChunk(), usageChunk()])}data: [DONE]\n\n`
      : JSON.stringify(
          providerReply({
            choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
          }),
        )
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
    const got = await call([{ raw: CONTINUE + head }, { raw: body }], stream)
    expect(contentOf(got.body, stream)).toBe(text)
  })

  test("a provider's reply with more than 64 KB of headers is broken, and costs nothing", async () => {
    const { body, charge, status } = await call([{ raw: reply(stream, headers(70_000, 1_000)) }], stream)
    expect(status).toBe(502)
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'provider_invalid_response' } })
    expect(charge).toBeUndefined()
  })
})

test('the anthropic adapter also reads a reply after an unrequested 100 Continue', async () => {
  await service.close()
  service = await WireService.start({ adapter: (baseUrl) => anthropic({ baseUrl, apiKey: 'sk-ant' }) })
  const body = JSON.stringify({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', stop_reason: 'end_turn' },
    content: [{ type: 'text', text: 'Hello' }],
    usage: { input_tokens: 11, output_tokens: 7 },
  })
  const head = `HTTP/1.1 200 OK\r\n${headers(17_000, 1_000)}content-length: ${body.length}\r\n\r\n`
  const got = await call([{ raw: CONTINUE }, { raw: head + body }], false)
  expect([got.status, contentOf(got.body, false)]).toEqual([200, 'Hello'])
  expect(got.charge?.cost).toBeGreaterThan(0n)
})
