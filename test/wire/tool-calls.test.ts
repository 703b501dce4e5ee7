import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerEvents, answerJson, finishChunk } from '../helpers/scripted-upstream.js'
import { API_KEY, BASE_COST, COUNTS, MODEL, providerReply, usageChunk, WireService } from './service.js'

const transfer = { name: 'transfer', arguments: '{"to":"a"}' }
const remove = { name: 'delete', arguments: '{"id":2}' }

/** Two calls, from providers with different ways to number them. */
const numberings: Readonly<
  Record<string, readonly { readonly function: object; readonly [field: string]: unknown }[]>
> = {
  'have neither indexes nor ids': [{ function: transfer }, { function: remove }],
  'have one index and two ids': [
    { index: 0, id: 'c1', function: transfer },
    { index: 0, id: 'c2', function: remove },
  ],
  'begin at index 1': [
    { index: 1, id: 'c1', function: transfer },
    { index: 2, id: 'c2', function: remove },
  ],
  'share an id': [
    { index: 0, id: 'c1', function: transfer },
    { index: 1, id: 'c1', function: remove },
  ],
  'share an id, without indexes': [
    { id: 'c1', function: transfer },
    { id: 'c1', function: remove },
  ],
  'share an id and an index': [
    { index: 0, id: 'c1', function: transfer },
    { index: 0, id: 'c1', function: remove },
  ],
  'share an id, an index and their arguments': [
    { index: 0, id: 'c1', function: { name: 'archive', arguments: remove.arguments } },
    { index: 0, id: 'c1', function: remove },
  ],
  'have indexes that are text': [
    { index: '0', id: 'c1', function: transfer },
    { index: '1', id: 'c2', function: remove },
  ],
}

describe('the openai client receives both tool calls complete if they', () => {
  let service: WireService
  let client: OpenAI
  beforeAll(async () => {
    service = await WireService.start()
    client = new OpenAI({ baseURL: service.host.baseUrl, apiKey: API_KEY, maxRetries: 0 })
  })
  afterAll(() => service.close())

  const rows = Object.keys(numberings).flatMap((name) =>
    ['one delta', 'two'].map((deltas) => [name, deltas] as const),
  )
  it.each(rows)('%s, in %s', async (name, deltas) => {
    const calls = numberings[name]!
    const events = (deltas === 'two' ? calls.map((call) => [call]) : [calls]).map((tool_calls) => ({
      choices: [{ index: 0, delta: { tool_calls }, finish_reason: null }],
    }))
    service.upstream.script(answerEvents([...events, finishChunk('tool_calls'), usageChunk()]))
    const request = { model: MODEL, messages: [{ role: 'user' as const, content: 'Do both.' }] }
    const streamed = await client.chat.completions.stream(request).finalChatCompletion()
    const whole = await client.chat.completions.create(request)
    for (const reply of [streamed, whole]) {
      const { finish_reason, message } = reply.choices[0]!
      expect(finish_reason).toBe('tool_calls')
      expect(message.tool_calls).toMatchObject(calls.map((call) => ({ function: call.function })))
      expect(new Set(message.tool_calls?.map(({ id }) => id)).size).toBe(2)
    }
  })
})

describe('a tool call that was cut off', () => {
  let service: WireService
  let client: OpenAI
  beforeAll(async () => {
    service = await WireService.start()
    client = new OpenAI({ baseURL: service.host.baseUrl, apiKey: API_KEY, maxRetries: 0 })
  })
  afterAll(() => service.close())

  const rows = ['before its arguments', 'in its arguments'].flatMap((place) =>
    [true, false].map((sendsStream) => ({ place, sendsStream })),
  )
  it.each(rows)(
    '$place never looks complete, from a stream: $sendsStream',
    async ({ place, sendsStream }) => {
      const args = place === 'in its arguments' ? '{"to":' : ''
      const call = { index: 0, id: 'c1', type: 'function', function: { ...transfer, arguments: args } }
      const message = { role: 'assistant', content: null, tool_calls: [call] }
      service.upstream.script(
        sendsStream
          ? answerEvents([
              { choices: [{ index: 0, delta: message, finish_reason: null }] },
              finishChunk('length'),
              usageChunk(COUNTS),
            ])
          : answerJson(providerReply({ choices: [{ index: 0, message, finish_reason: 'length' }] })),
      )
      const request = { model: MODEL, messages: [{ role: 'user' as const, content: 'Do both.' }] }
      const streamed = await client.chat.completions.stream(request).finalChatCompletion()
      const whole = await client.chat.completions.create(request)
      for (const { choices, usage } of [streamed, whole]) {
        expect(choices[0]).toMatchObject({
          finish_reason: 'length',
          message: { tool_calls: [{ function: { name: 'transfer', arguments: args } }] },
        })
        expect(usage).toMatchObject({ cost: Number(BASE_COST) })
      }
    },
  )
})
