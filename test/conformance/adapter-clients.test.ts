import { once } from 'node:events'
import { createServer } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { AIMessageChunk } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { generateText, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ProviderAdapter } from '../../src/contracts/index.js'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
} from '../../src/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { anthropic } from '../../src/providers/anthropic/index.js'
import type { AdapterUnderTest, ScriptedAnswer } from '../../src/testing/adapter/index.js'
import { anthropicLanguage, openAiLanguage } from './adapter-languages.js'
import { openAdapter } from './adapter-upstream.js'

const MODEL = 'acme/fast'

const answer: ScriptedAnswer = {
  text: ['Let me ', 'look.'],
  toolCalls: [{ id: 'call_1', name: 'look', arguments: '{"at":"sky"}' }],
  finish: 'tool_calls',
  usage: { prompt: 21, cached: 8, cacheWrite: 0, completion: 13, reasoning: 0 },
}

/** 13 of 21 at 1, 8 at 0.1, 13 at 2 credits per million. */
const COST = 0.0000398

const adapters: Readonly<Record<string, () => Promise<AdapterUnderTest>>> = {
  anthropic: () =>
    openAdapter({ kind: 'answer', answer }, anthropicLanguage, (baseUrl) =>
      anthropic({ baseUrl, apiKey: 'sk' }),
    ),
  aiSdk: () =>
    openAdapter({ kind: 'answer', answer }, openAiLanguage, (baseURL) =>
      aiSdk({
        model: (name, apiKey = 'sk') =>
          createOpenAICompatible({ name: 'scripted', baseURL, apiKey, includeUsage: true })(name),
      }),
    ),
}

async function serve(adapter: ProviderAdapter) {
  const router = createCompatRouter({
    credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }),
    catalogue: memoryCatalogue([{ id: MODEL, prices: { input: '1', cachedInput: '0.1', output: '2' } }]),
    ledger: memoryLedger({ alice: '5.00' }),
    providers: memoryProviders([{ id: 'only', models: { [MODEL]: 'upstream-model' }, adapter }]),
  })
  const server = createServer((req, res) => router(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  return {
    baseURL: `http://127.0.0.1:${address.port}`,
    async close() {
      await router.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
const openAiTool = { type: 'function' as const, function: { name: 'look', parameters } }
const sdkTool = { look: tool({ description: 'Looks', inputSchema: z.object({ at: z.string() }) }) }
const prompt = 'Look at the sky'

describe.each(Object.keys(adapters))('through %s', (name) => {
  let upstream: AdapterUnderTest
  let host: Awaited<ReturnType<typeof serve>>
  beforeEach(async () => {
    const open = adapters[name]
    if (open === undefined) throw new Error(name)
    upstream = await open()
    host = await serve(upstream.adapter)
  })
  afterEach(async () => {
    await host.close()
    await Promise.all([upstream.adapter.close?.(), upstream.close()])
  })

  it('the openai client reads text, calls and cost, streamed and whole', async () => {
    const client = new OpenAI({ baseURL: host.baseURL, apiKey: 'sk-demo' })
    const body = { model: MODEL, messages: [{ role: 'user' as const, content: prompt }], tools: [openAiTool] }
    const whole = await client.chat.completions.create(body)
    const streamed = await client.chat.completions.stream(body).finalChatCompletion()
    for (const completion of [whole, streamed]) {
      expect(completion.model).toBe(MODEL)
      expect(completion.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          content: 'Let me look.',
          tool_calls: [{ id: 'call_1', function: { name: 'look', arguments: '{"at":"sky"}' } }],
        },
      })
      expect(completion.usage).toMatchObject({ prompt_tokens: 21, completion_tokens: 13, cost: COST })
    }
  })

  it.each(['@ai-sdk/openai-compatible', '@openrouter/ai-sdk-provider'])(
    'the AI SDK with %s reads text and calls, streamed and whole',
    async (provider) => {
      const settings = { baseURL: host.baseURL, apiKey: 'sk-demo' }
      const model = provider.startsWith('@ai-sdk')
        ? createOpenAICompatible({ name: 'acme', ...settings })(MODEL)
        : createOpenRouter(settings)(MODEL)
      const whole = await generateText({ model, prompt, tools: sdkTool })
      const stream = streamText({ model, prompt, tools: sdkTool })
      for (const result of [whole, stream]) {
        expect(await result.text).toBe('Let me look.')
        expect(await result.toolCalls).toMatchObject([
          { toolCallId: 'call_1', toolName: 'look', input: { at: 'sky' } },
        ])
        expect(await result.finishReason).toBe('tool-calls')
        expect(await result.usage).toMatchObject({ inputTokens: 21, outputTokens: 13 })
      }
    },
  )

  it('langchain reads text and calls, streamed and whole', async () => {
    const model = new ChatOpenAI({
      model: MODEL,
      apiKey: 'sk-demo',
      configuration: { baseURL: host.baseURL },
    }).bindTools([openAiTool])
    const whole = await model.invoke(prompt)
    let streamed = new AIMessageChunk('')
    for await (const chunk of await model.stream(prompt)) streamed = streamed.concat(chunk)
    for (const message of [whole, streamed]) {
      expect(message.text).toBe('Let me look.')
      expect(message.tool_calls).toMatchObject([{ id: 'call_1', name: 'look', args: { at: 'sky' } }])
      expect(message.usage_metadata).toMatchObject({ input_tokens: 21, output_tokens: 13 })
    }
  })

  it('a conversation with the result of a tool goes on', async () => {
    const client = new OpenAI({ baseURL: host.baseURL, apiKey: 'sk-demo' })
    const calls = [
      { id: 'call_1', type: 'function' as const, function: { name: 'look', arguments: '{"at":"sky"}' } },
    ]
    const completion = await client.chat.completions.create({
      model: MODEL,
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: prompt },
        { role: 'assistant', content: null, tool_calls: calls },
        { role: 'tool', tool_call_id: 'call_1', content: 'blue' },
      ],
      tools: [openAiTool],
    })
    expect(completion.choices).toHaveLength(1)
    expect(upstream.requests[0]?.text).toContain('blue')
  })

  it('what the provider has no words for is a 400 that names it, and costs nothing', async () => {
    const client = new OpenAI({ baseURL: host.baseURL, apiKey: 'sk-demo' })
    const body = { model: MODEL, messages: [{ role: 'user' as const, content: prompt }], logprobs: true }
    await expect(client.chat.completions.create(body)).rejects.toMatchObject({
      status: 400,
      param: 'logprobs',
    })
    expect(upstream.requests).toHaveLength(0)
  })
})
