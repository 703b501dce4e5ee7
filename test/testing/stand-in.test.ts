import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type StandIn, startStandIn } from '../../src/testing/stand-in/stand-in.js'

const apiKey = 'sk-upstream-test'
const hello = [{ role: 'user' as const, content: 'Hello there' }]
const weatherTool = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
    },
  },
}

let upstream: StandIn
let client: OpenAI

beforeAll(async () => {
  upstream = await startStandIn({ apiKey, tokenDelayMs: 0 })
  client = new OpenAI({ baseURL: upstream.baseUrl, apiKey, maxRetries: 0 })
})

afterAll(() => upstream.close())

async function streamed(body: Omit<OpenAI.ChatCompletionCreateParamsStreaming, 'model' | 'stream'>) {
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of await client.chat.completions.create({
    model: 'demo-small',
    stream: true,
    ...body,
  })) {
    chunks.push(chunk)
  }
  return chunks
}

describe('the demo upstream, read by the openai client,', () => {
  it('lists its models', async () => {
    const ids = (await client.models.list()).data.map((model) => model.id)
    expect(ids).toEqual(['demo-small', 'demo-large'])
  })

  it('refuses requests that would keep the process busy for seconds', async () => {
    const messages = [{ role: 'user' as const, content: 'word '.repeat(20_000) }]
    const whole = await client.chat.completions.create({ model: 'demo-small', messages, n: 2 })
    expect(whole.choices).toHaveLength(2)
    await expect(client.chat.completions.create({ model: 'demo-small', messages, n: 128 })).rejects.toThrow(
      '400 The request is too large for the demo model.',
    )
  })

  it('sends the same reply in one body and as a stream, with the same counts', async () => {
    const whole = await client.chat.completions.create({ model: 'demo-small', messages: hello })
    const chunks = await streamed({ messages: hello, stream_options: { include_usage: true } })
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
    expect(text).toBe(whole.choices[0]!.message.content)
    expect(text).toContain('Hello there')
    expect(chunks.at(-1)!.usage).toEqual(whole.usage)
    expect(whole.usage!.total_tokens).toBe(whole.usage!.prompt_tokens + whole.usage!.completion_tokens)
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('stop')
  })

  it('reports usage in a stream only if the request asks for it', async () => {
    const chunks = await streamed({ messages: hello })
    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([])
  })

  it('stops at max_tokens, with the finish reason length', async () => {
    const reply = await client.chat.completions.create({
      model: 'demo-small',
      messages: hello,
      max_tokens: 3,
    })
    expect(reply.choices[0]!.finish_reason).toBe('length')
    expect(reply.usage!.completion_tokens).toBe(3)
  })

  it('ends before a stop word', async () => {
    const reply = await client.chat.completions.create({
      model: 'demo-small',
      messages: hello,
      stop: ['wrote', 'never'],
    })
    expect(reply.choices[0]!.message.content).toBe('Hello from the demo model. You ')
  })

  it('returns n choices, also in a stream', async () => {
    const reply = await client.chat.completions.create({ model: 'demo-small', messages: hello, n: 3 })
    expect(reply.choices.map((choice) => choice.message.content?.slice(0, 11))).toEqual([
      'Choice 1 of',
      'Choice 2 of',
      'Choice 3 of',
    ])
    const finished = (await streamed({ messages: hello, n: 3 })).filter(
      (chunk) => chunk.choices[0]!.finish_reason,
    )
    expect(finished.map((chunk) => chunk.choices[0]!.index)).toEqual([0, 1, 2])
  })

  it('calls a tool with arguments that its schema accepts, then reads its result', async () => {
    const question = { role: 'user' as const, content: 'Is it warm in Paris today?' }
    const runner = client.chat.completions.stream({
      model: 'demo-small',
      messages: [question],
      tools: [weatherTool],
    })
    const { message, finish_reason } = (await runner.finalChatCompletion()).choices[0]!
    expect(finish_reason).toBe('tool_calls')
    const call = message.tool_calls![0]!
    expect(call.type === 'function' && JSON.parse(call.function.arguments)).toEqual({
      city: 'Paris',
      unit: 'celsius',
    })
    const final = await client.chat.completions.create({
      model: 'demo-small',
      messages: [question, message, { role: 'tool', tool_call_id: call.id, content: '21 degrees' }],
      tools: [weatherTool],
    })
    expect(final.choices[0]!.message.content).toBe('The tool answered: 21 degrees')
  })

  it('calls the tool that matches the question, the chosen one, or none', async () => {
    const time = {
      type: 'function' as const,
      function: { name: 'get_time', description: 'The time in a city', parameters: {} },
    }
    const messages = [{ role: 'user' as const, content: 'Which weather do we have?' }]
    const called = async (tool_choice?: OpenAI.ChatCompletionToolChoiceOption) => {
      const reply = await client.chat.completions.create({
        model: 'demo-small',
        messages,
        tools: [time, weatherTool],
        ...(tool_choice === undefined ? {} : { tool_choice }),
      })
      const call = reply.choices[0]!.message.tool_calls?.[0]
      return call?.type === 'function' ? call.function.name : undefined
    }
    expect(await called()).toBe('get_weather')
    expect(await called({ type: 'function', function: { name: 'get_time' } })).toBe('get_time')
    expect(await called('none')).toBeUndefined()
  })

  it('replies in JSON if the request requires it', async () => {
    const reply = await client.chat.completions.create({
      model: 'demo-small',
      messages: hello,
      response_format: { type: 'json_object' },
    })
    expect(JSON.parse(reply.choices[0]!.message.content!)).toEqual({
      reply: 'Hello',
      question: 'Hello there',
    })
  })

  it('refuses a wrong key, an unknown model, no messages and an unknown path as OpenAI does', async () => {
    const stranger = new OpenAI({ baseURL: upstream.baseUrl, apiKey: 'sk-other', maxRetries: 0 })
    await expect(stranger.models.list()).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' })
    await expect(client.chat.completions.create({ model: 'gpt-9', messages: hello })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
    await expect(client.chat.completions.create({ model: 'demo-small', messages: [] })).rejects.toMatchObject(
      { status: 400, type: 'invalid_request_error' },
    )
    await expect(client.embeddings.create({ model: 'demo-small', input: 'x' })).rejects.toMatchObject({
      status: 404,
    })
  })
})

describe('the demo upstream, read by the AI SDK,', () => {
  const model = () =>
    createOpenAICompatible({
      name: 'demo',
      baseURL: upstream.baseUrl,
      apiKey,
      supportsStructuredOutputs: true,
    })('demo-large')

  it('streams text', async () => {
    const result = streamText({ model: model(), prompt: 'Hello there', maxRetries: 0 })
    expect(await result.text).toContain('"Hello there"')
    expect(await result.finishReason).toBe('stop')
  })

  it('runs a tool loop to its end', async () => {
    const result = await generateText({
      model: model(),
      prompt: 'Tell me the weather in Oslo',
      maxRetries: 0,
      stopWhen: stepCountIs(3),
      tools: {
        weather: tool({
          inputSchema: z.object({ city: z.string(), days: z.number().int().min(2).max(5) }),
          execute: ({ city, days }) => `${days} days of rain in ${city}`,
        }),
      },
    })
    expect(result.steps).toHaveLength(2)
    expect(result.text).toContain('2 days of rain in Oslo')
  })

  it('returns structured output that the schema accepts', async () => {
    const schema = z.object({
      title: z.string().min(1).max(3),
      kind: z.enum(['note', 'task']),
      tags: z.array(z.string()).min(2),
      due: z.iso.date().nullable(),
    })
    const { output } = await generateText({
      model: model(),
      prompt: 'Make a note',
      maxRetries: 0,
      output: Output.object({ schema }),
    })
    expect(schema.parse(output)).toEqual(output)
  })
})

describe('a stand-in that fails on demand', () => {
  it('fails once for each failure, with its status and headers', async () => {
    upstream.failNext({ status: 429, message: 'Slow down', headers: { 'retry-after': '7' } }, { status: 503 })
    const ask = () => client.chat.completions.create({ model: 'demo-small', messages: hello })
    const refused = await ask().catch((error: unknown) => error as InstanceType<typeof OpenAI.APIError>)
    expect(refused).toMatchObject({ status: 429, message: '429 Slow down' })
    expect((refused as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('7')
    await expect(ask()).rejects.toMatchObject({ status: 503 })
    expect((await ask()).choices).toHaveLength(1)
  })

  it('ends the connection after some tokens of a stream, and before a reply in one body', async () => {
    upstream.failNext({ afterTokens: 3 }, { afterTokens: 3 })
    let text = ''
    const broken = async () => {
      const stream = await client.chat.completions.create({
        model: 'demo-small',
        messages: hello,
        stream: true,
      })
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
    }
    await expect(broken()).rejects.toThrow()
    expect(text).toBe('Hello from the')
    await expect(client.chat.completions.create({ model: 'demo-small', messages: hello })).rejects.toThrow(
      'Connection error',
    )
  })

  it('may be closed twice', async () => {
    const own = await startStandIn()
    await own.close()
    await own.close()
    await expect(fetch(`${own.baseUrl}/models`)).rejects.toThrow()
  })
})
