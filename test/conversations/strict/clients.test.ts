import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import {
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  stepCountIs,
  streamText,
  tool,
} from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type StrictReply, type StrictRow, StrictUpstream } from './index.js'

const LOOK: StrictReply = {
  thoughts: 'I should look.',
  text: 'Looking.',
  calls: [
    { name: 'look', arguments: '{"place":"Rome"}' },
    { name: 'look', arguments: '{"place":"Oslo"}' },
  ],
}
const SUN: StrictReply = { thoughts: 'Both known.', text: 'Sun in both.' }

const parameters = {
  type: 'object' as const,
  properties: { place: { type: 'string' as const } },
  required: ['place'],
  additionalProperties: false,
}

let upstream: StrictUpstream
beforeAll(async () => {
  upstream = await StrictUpstream.start()
})
afterAll(() => upstream.close())
beforeEach(() => {
  upstream.requests.length = 0
})

const refusals = () => upstream.requests.map(({ refusal }) => refusal?.body)

describe.each(['a body', 'a stream'])('a task with two calls, read from %s', (form) => {
  const isStream = form === 'a stream'

  test.each<StrictRow>(['openai', 'deepseek', 'groq', 'mistral', 'gemini-chat'])(
    'goes through chats of %s with the library of OpenAI',
    async (row) => {
      // The library does not know that Mistral's content has parts if it has thoughts.
      const { thoughts: _, ...look } = LOOK
      upstream.script(row, row === 'mistral' ? look : LOOK, { text: 'Sun in both.' })
      const client = new OpenAI({ apiKey: 'sk', baseURL: upstream.baseUrl(row), maxRetries: 0 })
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Where does the sun shine?' },
      ]
      const tools: OpenAI.ChatCompletionTool[] = [
        { type: 'function', function: { name: 'look', parameters } },
      ]
      const ask = async () => {
        const asked = { model: 'm', messages, tools }
        if (!isStream) return await client.chat.completions.create(asked)
        return await client.chat.completions.stream(asked).finalChatCompletion()
      }
      const first = await ask()
      const calls = first.choices[0]?.message.tool_calls ?? []
      expect(calls.map((call) => call.type === 'function' && call.function.arguments)).toEqual([
        '{"place":"Rome"}',
        '{"place":"Oslo"}',
      ])
      // Some of these vendors refuse members of their own replies, which only OpenAI's library adds or keeps.
      messages.push({
        role: 'assistant',
        content: first.choices[0]?.message.content ?? null,
        tool_calls: calls,
      })
      for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'sun' })
      expect((await ask()).choices[0]?.message.content).toBe('Sun in both.')
      expect(refusals()).toEqual([undefined, undefined])
    },
  )

  test('goes through responses with the library of OpenAI', async () => {
    upstream.script('openai', LOOK, SUN)
    const client = new OpenAI({ apiKey: 'sk', baseURL: upstream.baseUrl('openai'), maxRetries: 0 })
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Where does the sun shine?' }]
    const ask = async () => {
      const asked = {
        model: 'm',
        input,
        tools: [{ type: 'function' as const, name: 'look', parameters, strict: true }],
        include: ['reasoning.encrypted_content' as const],
        store: false,
      }
      if (!isStream) return await client.responses.create(asked)
      for await (const event of await client.responses.create({ ...asked, stream: true })) {
        if (event.type === 'response.completed') return event.response
      }
      throw new Error('The stream did not end.')
    }
    const first = await ask()
    expect(first.output.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call',
    ])
    input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]))
    for (const item of first.output) {
      if (item.type === 'function_call')
        input.push({ type: 'function_call_output', call_id: item.call_id, output: 'sun' })
    }
    expect((await ask()).output.at(-1)).toMatchObject({ content: [{ text: 'Sun in both.' }] })
    expect(refusals()).toEqual([undefined, undefined])
  })

  test('goes through messages with the library of Anthropic', async () => {
    upstream.script('anthropic', LOOK, SUN)
    const client = new Anthropic({
      apiKey: 'sk',
      baseURL: upstream.baseUrl('anthropic').replace(/\/v1$/, ''),
      maxRetries: 0,
    })
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Where does the sun shine?' }]
    const ask = async () => {
      const asked = {
        model: 'claude',
        max_tokens: 4096,
        thinking: { type: 'enabled' as const, budget_tokens: 1024 },
        messages,
        tools: [{ name: 'look', input_schema: parameters }],
      }
      return isStream
        ? await client.messages.stream(asked).finalMessage()
        : await client.messages.create(asked)
    }
    const first = await ask()
    expect(first.content.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_use', 'tool_use'])
    messages.push({ role: 'assistant', content: first.content })
    messages.push({
      role: 'user',
      content: first.content.flatMap((block) =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'sun' }]
          : [],
      ),
    })
    expect((await ask()).content.at(-1)).toMatchObject({ type: 'text', text: 'Sun in both.' })
    expect(refusals()).toEqual([undefined, undefined])
  })

  const models: Readonly<Record<string, [StrictRow, () => LanguageModel]>> = {
    'chats of OpenAI': [
      'openai',
      () => createOpenAI({ apiKey: 'sk', baseURL: upstream.baseUrl('openai') }).chat('gpt-4.1'),
    ],
    'responses of OpenAI': [
      'openai',
      () => createOpenAI({ apiKey: 'sk', baseURL: upstream.baseUrl('openai') }).responses('gpt-5'),
    ],
    'messages of Anthropic': [
      'anthropic',
      () => createAnthropic({ apiKey: 'sk', baseURL: upstream.baseUrl('anthropic') })('claude-sonnet-4-5'),
    ],
    "Google's own API": [
      'gemini',
      () =>
        createGoogleGenerativeAI({ apiKey: 'sk', baseURL: upstream.baseUrl('gemini') })(
          'gemini-3-pro-preview',
        ),
    ],
    'chats of DeepSeek': [
      'deepseek',
      () =>
        createOpenAICompatible({ name: 'deepseek', apiKey: 'sk', baseURL: upstream.baseUrl('deepseek') })(
          'm',
        ),
    ],
  }

  test.each(Object.keys(models))('goes through %s with the AI SDK', async (name) => {
    const [row, model] = models[name] as [StrictRow, () => LanguageModel]
    upstream.script(row, LOOK, SUN)
    const messages: ModelMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Where does the sun shine?' },
    ]
    const asked = {
      model: model(),
      messages,
      maxRetries: 0,
      tools: { look: tool({ inputSchema: jsonSchema(parameters), execute: () => 'sun' }) },
      stopWhen: stepCountIs(3),
    }
    const text = isStream ? await streamText(asked).text : (await generateText(asked)).text
    expect(text).toBe('Sun in both.')
    expect(refusals()).toEqual([undefined, undefined])
  })
})
