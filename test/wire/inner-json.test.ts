import { afterEach, describe, expect, it } from 'vitest'
import { sealReasoning } from '../../src/operations/responses/request/sealed-reasoning.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { API_KEY, MODEL, providerReply, WireService } from './service.js'

let service: WireService
afterEach(() => service.close())

const MANY = `[${'0,'.repeat(200_000)}0]`
const DEEP = `${'['.repeat(200)}${']'.repeat(200)}`
const sealed = (json: string) => `cr1.${Buffer.from(json).toString('base64url')}`
const marked = (json: string) => `cr1.AAAAAAAAAAA.d${Buffer.from(json).toString('base64url')}`
const question = { role: 'user', content: 'Hi' }
const call = (args: string) => ({ id: 'c', type: 'function', function: { name: 'f', arguments: args } })
const withCalls = (...args: string[]) => ({
  messages: [
    question,
    { role: 'assistant', content: null, tool_calls: args.map(call) },
    { role: 'tool', tool_call_id: 'c', content: 'x' },
  ],
})

async function post(path: string, body: object) {
  service = await WireService.start({ models: [{ id: MODEL, prices: { input: '0', output: '0' } }] })
  service.upstream.script(answerJson(providerReply()))
  const response = await service.host.request(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, max_tokens: 50, ...body }),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

const reasoning = (encrypted_content: string) => ({
  max_tokens: undefined,
  input: [{ type: 'reasoning', summary: [], encrypted_content }, question],
})
const itemOfCall = (args: string) => ({
  max_tokens: undefined,
  input: [
    question,
    { type: 'function_call', call_id: 'c', name: 'f', arguments: args },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
  ],
})
const thinking = (json: string) => ({
  messages: [
    question,
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: marked(json) }] },
    question,
  ],
})
const hidden = (json: string) => ({
  messages: [
    question,
    { role: 'assistant', content: [{ type: 'redacted_thinking', data: marked(json) }] },
    question,
  ],
})

describe('JSON text inside a request', () => {
  it.each<[string, string, object, string]>([
    ['many values in encrypted_content', '/responses', reasoning(sealed(MANY)), 'input.0.encrypted_content'],
    ['depths in encrypted_content', '/responses', reasoning(sealed(DEEP)), 'input.0.encrypted_content'],
    ['many values in arguments of an item', '/responses', itemOfCall(`{"a":${MANY}}`), 'input.1.arguments'],
    ['many values in a signature', '/messages', thinking(MANY), 'messages.1.content.0.signature'],
    ['depths in a signature', '/messages', thinking(DEEP), 'messages.1.content.0.signature'],
    ['many values in hidden thinking', '/messages', hidden(MANY), 'messages.1.content.0.data'],
    [
      'many values in arguments',
      '/chat/completions',
      withCalls(`{"a":${MANY}}`),
      'messages.1.tool_calls.0.function.arguments',
    ],
    [
      'many values in arguments that are a string of JSON',
      '/chat/completions',
      withCalls(JSON.stringify(`{"a":${MANY}}`)),
      'messages.1.tool_calls.0.function.arguments',
    ],
    [
      'many values in several arguments together',
      '/chat/completions',
      withCalls(...Array<string>(3).fill(`{"a":[${'0,'.repeat(80_000)}0]}`)),
      'messages.1.tool_calls.2.function.arguments',
    ],
  ])(
    'is refused with 400 and its place if it is beyond the limits of a body: %s',
    async (_, path, body, param) => {
      const reply = await post(path, body)
      expect(reply.status).toBe(400)
      if (path === '/messages') expect(reply.body.error.message).toContain(param)
      else expect(reply.body.error.param).toBe(param)
      expect(service.asked).toEqual([])
    },
  )

  it.each<[string, object]>([
    ['words of any number', withCalls('word '.repeat(300_000))],
    ['depths, which are never parsed', withCalls(`{"a":${DEEP}}`)],
    ['a long text', withCalls(JSON.stringify({ text: '[{,"'.repeat(300_000) }))],
  ])('is accepted in arguments if it is %s', async (_, body) => {
    expect((await post('/chat/completions', body)).status).toBe(200)
    expect(service.asked).toHaveLength(1)
  })

  it('is accepted in the next turn if it was returned as reasoning', async () => {
    const of = (count: number) =>
      sealReasoning({
        provider: 'openai-compatible',
        details: Array.from({ length: count }, (_, index) => ({
          type: 'reasoning.encrypted',
          data: 'x',
          index,
        })),
      })
    expect(of(1_001)).toBeUndefined()
    expect((await post('/responses', reasoning(of(1_000)!))).status).toBe(200)
  })
})
