import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerJson, type Script } from '../helpers/scripted-upstream.js'
import { type ReadReply, readBody, readStream } from './client-schemas.js'
import { message, oddBodies, oddStreams } from './odd-replies.js'
import { ask, framesOf, WireService } from './service.js'

describe.each([true, false])('requested as a stream: %s, and streamed by the provider,', (wanted) => {
  let service: WireService
  beforeAll(async () => {
    service = await WireService.start()
  })
  afterAll(() => service.close())

  async function read(script: Script): Promise<ReadReply> {
    service.upstream.scriptOnce(script)
    const response = await service.post(ask({ stream: wanted, n: 2 }))
    const body = await response.text()
    expect([response.status, body]).toEqual([200, expect.any(String)])
    expect(response.headers['content-type']).toBe(
      wanted ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8',
    )
    return wanted ? readStream(body) : readBody(body)
  }

  test.each(Object.keys(oddStreams))('%s can be read by every client', async (name) => {
    const [body, choices] = oddStreams[name]!
    const reply = await read([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: body },
      'end',
    ])
    expect(reply.choices).toMatchObject(choices)
    expect(reply.choices).toHaveLength(choices.length)
    expect(reply.usage).toMatchObject({
      prompt_tokens: 11,
      completion_tokens: 7,
      charge: { basis: 'reported' },
    })
  })

  test.each(Object.keys(oddBodies))('as JSON, %s, can be read by every client', async (name) => {
    const [body, choices] = oddBodies[name]!
    const reply = await read(answerJson(body))
    expect([...reply.choices]).toMatchObject(choices)
    expect(reply.choices).toHaveLength(choices.length)
  })

  test.each([
    ['no choices', { choices: [] }],
    ['an error in a 200', { error: { message: 'No.' } }],
    ['an empty error and nothing else', { error: {} }],
    ['an error next to choices', { ...message({ content: 'Hello' }), error: { message: 'No.' } }],
    ['a finish reason of error', message({ content: 'Hello' }, 'error')],
    [
      'a finish reason that reports a lack of resources',
      message({ content: 'Hi' }, 'insufficient_system_resource'),
    ],
    ['a finish reason that reports a broken network', message({ content: 'Hello' }, 'network_error')],
    ['a choice without a message', { choices: [{ index: 0, finish_reason: 'stop' }] }],
    ['a list', []],
    ['a string', '"Hello"'],
    ['null', 'null'],
  ])('a reply that is %s is never a success', async (_what, body) => {
    service.upstream.scriptOnce(answerJson(body))
    const response = await service.post(ask({ stream: wanted }))
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ error: { code: expect.stringMatching(/^provider_/) } })
  })

  test.each([
    ['choices that are numbers', { choices: [5] }],
    ['content that is an object without text', message({ content: { a: 5 } })],
    ['a tool call without a name', message({ tool_calls: [{ id: 'a', function: {} }] })],
    [
      'a finish reason that reports a dropped tool call',
      message({ content: null }, 'function_call_filter: MALFORMED_FUNCTION_CALL'),
    ],
  ])(
    'a reply that is %s is charged: a stream ends with an error, and a JSON reply contains the readable part',
    async (_what, body) => {
      service.upstream.scriptOnce(answerJson(body))
      const response = await service.post(ask({ stream: wanted }))
      expect(response.status).toBe(200)
      const text = await response.text()
      if (wanted) {
        const { error } = framesOf(text).at(-1) as { error: { metadata: { usage: { cost: number } } } }
        expect(error).toMatchObject({ code: 'provider_invalid_response' })
        expect(error.metadata.usage.cost).toBeGreaterThan(0)
        expect(text).not.toContain('[DONE]')
        return
      }
      const { choices, usage } = JSON.parse(text)
      expect(choices).toMatchObject([
        { message: { role: 'assistant', content: null }, finish_reason: 'stop' },
      ])
      expect(usage.cost).toBeGreaterThan(0)
    },
  )
})
