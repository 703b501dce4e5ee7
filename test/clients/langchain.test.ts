import type { AIMessageChunk } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  COST,
  ENDLESS,
  KEY,
  MODEL,
  OBJECT,
  POOR_KEY,
  providers,
  type Service,
  startService,
  TEXT,
  TOOL,
} from './service.js'

const place = {
  title: 'place',
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const weather = {
  type: 'function' as const,
  function: { name: TOOL.name, description: 'The weather in a city', parameters: place },
}
const question = 'How is the weather?'

describe.each(Object.keys(providers))('@langchain/openai through %s', (provider) => {
  let service: Service
  let model: ChatOpenAI
  const make = (fields: { apiKey?: string; model?: string; modelKwargs?: object } = {}) =>
    new ChatOpenAI({
      model: MODEL,
      apiKey: KEY,
      maxRetries: 0,
      ...fields,
      configuration: { baseURL: service.baseURL },
    })
  beforeAll(async () => {
    service = await startService(provider)
    model = make()
  })
  afterAll(() => service.close())

  const costOf = (message: { response_metadata: Record<string, unknown> }) =>
    (message.response_metadata.usage as { cost?: unknown } | undefined)?.cost

  it('completes a chat and reads the cost', async () => {
    const reply = await model.invoke(question)
    expect(reply.text).toBe(TEXT)
    expect(reply.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 7 })
    expect(costOf(reply)).toBe(COST)
  })

  it('streams a chat and reads the cost from the concatenated chunks', async () => {
    let whole: AIMessageChunk | undefined
    for await (const chunk of await model.stream(question))
      whole = whole === undefined ? chunk : whole.concat(chunk)
    expect(whole?.text).toBe(TEXT)
    expect(costOf(whole!)).toBe(COST)
    expect(whole?.response_metadata.finish_reason).toBe('stop')
  })

  it('gets tool calls, both as JSON and streamed', async () => {
    const calling = model.bindTools([weather])
    const expected = [{ name: TOOL.name, args: JSON.parse(TOOL.arguments) }]
    expect((await calling.invoke(question)).tool_calls).toMatchObject(expected)
    let whole: AIMessageChunk | undefined
    for await (const chunk of await calling.stream(question))
      whole = whole === undefined ? chunk : whole.concat(chunk)
    expect(whole?.tool_calls).toMatchObject(expected)
  })

  it('parses structured output', async () => {
    const structured = model.withStructuredOutput(place, { method: 'jsonSchema', name: 'place' })
    expect(await structured.invoke(question)).toEqual(JSON.parse(OBJECT))
  })

  it('sends a router field in modelKwargs', async () => {
    const ended = service.nextEnd()
    await make({ modelKwargs: { action: 'summary' } }).invoke(question)
    expect((await ended).action).toBe('summary')
  })

  it('aborts a stream midway, and the call ends', async () => {
    const ended = service.nextEnd()
    const controller = new AbortController()
    const reading = (async () => {
      for await (const _chunk of await model.stream(ENDLESS, { signal: controller.signal }))
        controller.abort()
    })()
    await expect(reading).rejects.toThrow(/abort/i)
    expect((await ended).outcome).toBe('client-left')
  })

  it('receives errors with their code and message', async () => {
    await expect(make({ apiKey: 'sk-wrong' }).invoke(question)).rejects.toMatchObject({ status: 401 })
    await expect(make({ model: 'no/such' }).invoke(question)).rejects.toThrow(/no\/such/)
    await expect(make({ apiKey: POOR_KEY }).invoke(question)).rejects.toMatchObject({ status: 402 })
  })
})
