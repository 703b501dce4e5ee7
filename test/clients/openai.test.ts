import OpenAI from 'openai'
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

const tools = [
  {
    type: 'function' as const,
    function: {
      name: TOOL.name,
      description: 'The weather in a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
]
const messages = [{ role: 'user' as const, content: 'How is the weather?' }]
const responseFormat = {
  type: 'json_schema' as const,
  json_schema: {
    name: 'place',
    strict: true,
    schema: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}
type WithCost = { cost: number; total_tokens: number }

describe.each(Object.keys(providers))('the openai client through %s', (provider) => {
  let service: Service
  let client: OpenAI
  beforeAll(async () => {
    service = await startService(provider)
    client = new OpenAI({ baseURL: service.baseURL, apiKey: KEY, maxRetries: 0 })
  })
  afterAll(() => service.close())

  it('completes a chat and reads the cost', async () => {
    const reply = await client.chat.completions.create({ model: MODEL, messages })
    expect(reply.choices[0]).toMatchObject({
      message: { role: 'assistant', content: TEXT },
      finish_reason: 'stop',
    })
    expect((reply.usage as unknown as WithCost).cost).toBe(COST)
    expect(reply.model).toBe(MODEL)
    expect(reply._request_id).toBeTruthy()
  })

  it('streams a chat and reads the cost from the last chunk', async () => {
    const stream = await client.chat.completions.create({ model: MODEL, messages, stream: true })
    let text = ''
    let last: OpenAI.ChatCompletionChunk | undefined
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      last = chunk
    }
    expect(text).toBe(TEXT)
    expect(last?.usage).toHaveProperty('cost', COST)
  })

  it('streams through its helper and reads the cost from the final completion', async () => {
    const stream = client.chat.completions.stream({ model: MODEL, messages })
    const final = await stream.finalChatCompletion()
    expect(final.choices[0]?.message.content).toBe(TEXT)
    expect((final.usage as unknown as WithCost).cost).toBe(COST)
  })

  it('runs tools to the end', async () => {
    const cities: string[] = []
    const runner = client.chat.completions.runTools({
      model: MODEL,
      messages,
      tools: [
        {
          type: 'function',
          function: {
            ...tools[0]!.function,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => {
              cities.push(city)
              return 'sunny'
            },
          },
        },
      ],
      stream: true,
    })
    expect(await runner.finalContent()).toBe(TEXT)
    expect(cities).toEqual(['Berlin'])
  })

  it('gets tool calls as JSON', async () => {
    const reply = await client.chat.completions.create({ model: MODEL, messages, tools })
    expect(reply.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ type: 'function', function: TOOL }] },
    })
  })

  it('parses structured output', async () => {
    const reply = await client.chat.completions.parse({
      model: MODEL,
      messages,
      response_format: responseFormat,
    })
    expect(JSON.parse(reply.choices[0]!.message.content!)).toEqual(JSON.parse(OBJECT))
  })

  it('sends a router field as an extra property', async () => {
    const ended = service.nextEnd()
    const request = { model: MODEL, messages, action: 'summary' }
    await client.chat.completions.create(request)
    expect((await ended).action).toBe('summary')
  })

  it('lists and retrieves models', async () => {
    const models = await client.models.list()
    expect(models.data.map(({ id }) => id)).toEqual([MODEL])
    expect(await client.models.retrieve(MODEL)).toMatchObject({ id: MODEL, object: 'model', name: 'Model X' })
  })

  it('aborts a stream midway, and the call ends', async () => {
    const ended = service.nextEnd()
    const controller = new AbortController()
    const stream = await client.chat.completions.create(
      { model: MODEL, messages: [{ role: 'user', content: ENDLESS }], stream: true },
      { signal: controller.signal },
    )
    for await (const _chunk of stream) controller.abort()
    expect((await ended).outcome).toBe('client-left')
  })

  it('throws the right error class for each status', async () => {
    const wrong = new OpenAI({ baseURL: service.baseURL, apiKey: 'sk-wrong', maxRetries: 0 })
    const poor = new OpenAI({ baseURL: service.baseURL, apiKey: POOR_KEY, maxRetries: 0 })
    await expect(wrong.models.list()).rejects.toThrow(OpenAI.AuthenticationError)
    await expect(wrong.models.list()).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' })
    const unknown = client.chat.completions.create({ model: 'no/such', messages })
    await expect(unknown).rejects.toThrow(OpenAI.NotFoundError)
    await expect(unknown).rejects.toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('no/such'),
    })
    const refused = poor.chat.completions.create({ model: MODEL, messages, stream: true })
    await expect(refused).rejects.toMatchObject({ status: 402, code: 'insufficient_credits' })
  })
})
