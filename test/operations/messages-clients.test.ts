import { createAnthropic } from '@ai-sdk/anthropic'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { generateText, type ModelMessage, Output, stepCountIs, streamText, tool as toolOfAi } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import {
  ANSWER,
  agent,
  CALL,
  ENDLESS,
  OBJECT,
  PREAMBLE,
  SIGNATURE,
  THOUGHT,
} from '../helpers/agent-upstream.js'
import { nanos } from '../helpers/decimals.js'
import { API_KEY, MODEL, type ServiceOptions, tokens, WireService } from '../wire/service.js'
import { PROVIDERS } from './providers.js'

/** 11 x 2 and 7 x 8 millionths, and the price of the request. */
const COST = '0.000178'
const QUESTION = 'How is the weather in Berlin?'
const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const parameters = z.object({ city: z.string() })
const user = { role: 'user' as const, content: QUESTION }

let service: WireService
afterEach(() => service.close())

async function charges(): Promise<readonly bigint[]> {
  const { entries } = await service.ledger.entries({ account: 'alice' }, CONTEXT)
  return entries.flatMap(({ charge, kind }) => (kind === 'charge' && charge ? [charge.cost] : []))
}

async function expectCharged(calls: number): Promise<void> {
  expect(await charges()).toEqual(Array.from({ length: calls }, () => nanos(COST)))
}

const costOf = (usage: unknown) => (usage as { readonly cost: number }).cost

describe.each(PROVIDERS)('against %s', (_, dialect, adapter) => {
  async function start(options: ServiceOptions = {}): Promise<string> {
    service = await WireService.start({ adapter, ...options })
    service.upstream.script(agent(dialect))
    return service.host.baseUrl
  }

  describe('the Anthropic client', () => {
    /** It adds `/v1` to its base URL, under which a host mounts the router. */
    const connect = (baseUrl: string, apiKey = API_KEY) =>
      new Anthropic({
        baseURL: baseUrl,
        apiKey,
        maxRetries: 0,
        fetch: (input, init) => fetch(String(input).replace('/v1/', '/'), init),
      })
    const open = async (apiKey = API_KEY) => connect(await start(), apiKey)
    const tools = [
      { name: CALL.name, input_schema: z.toJSONSchema(parameters) as Anthropic.Tool.InputSchema },
    ]

    it('creates a message, and reads its text and its cost', async () => {
      const client = await open()
      const message = await client.messages.create({ model: MODEL, max_tokens: 100, messages: [user] })
      expect(message).toMatchObject({
        type: 'message',
        role: 'assistant',
        model: MODEL,
        content: [{ type: 'text', text: ANSWER }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 11, output_tokens: 7, cache_read_input_tokens: 0 },
      })
      expect(costOf(message.usage)).toBe(Number(COST))
      await expectCharged(1)
    })

    it.each([false, true])('thinks and runs a tool over several turns (stream: %s)', async (stream) => {
      const client = await open()
      const messages: Anthropic.MessageParam[] = [user]
      const costs: unknown[] = []
      const ask = async () => {
        const request = { model: MODEL, max_tokens: 3_000, messages, tools }
        const thinking = { type: 'enabled' as const, budget_tokens: 1_024 }
        if (!stream) {
          const message = await client.messages.create({ ...request, thinking })
          costs.push(costOf(message.usage))
          return message
        }
        // The final message has only the counts that the client knows.
        const running = client.messages.stream({ ...request, thinking })
        running.on('streamEvent', (event) => {
          if (event.type === 'message_delta') costs.push(costOf(event.usage))
        })
        return running.finalMessage()
      }
      const first = await ask()
      expect(first.stop_reason).toBe('tool_use')
      expect(first.content).toMatchObject([
        { type: 'thinking', thinking: THOUGHT },
        { type: 'text', text: PREAMBLE },
        { type: 'tool_use', id: CALL.id, name: CALL.name, input: JSON.parse(CALL.arguments) },
      ])
      messages.push({ role: 'assistant', content: first.content })
      messages.push({
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: CALL.id, content: [{ type: 'text', text: 'sunny' }] }],
      })
      const second = await ask()
      expect(second.content).toEqual([{ type: 'text', text: ANSWER }])
      // The provider gets its own reasoning back.
      const { text } = service.asked[1]!
      expect(text).toContain(dialect === 'responses' ? '"encrypted_content":"gAAAAABencrypted"' : THOUGHT)
      if (dialect === 'messages') expect(text).toContain(`"signature":"${SIGNATURE}"`)
      else expect(text).not.toContain('cr1.')
      messages.push({ role: 'assistant', content: second.content }, { role: 'user', content: 'Again?' })
      expect((await ask()).content).toEqual([{ type: 'text', text: ANSWER }])
      expect(costs).toEqual([Number(COST), Number(COST), Number(COST)])
      await expectCharged(3)
    })

    it('runs a tool by itself, without the thread for which it asks first', async () => {
      const client = await open()
      const weather = betaZodTool({
        name: CALL.name,
        description: 'The weather in a city.',
        inputSchema: parameters,
        run: ({ city }) => `sunny in ${city}`,
      })
      const runner = client.beta.messages.toolRunner({
        model: MODEL,
        max_tokens: 3_000,
        messages: [user],
        tools: [weather],
      })
      expect((await runner).content).toEqual([{ type: 'text', text: ANSWER }])
      expect(service.asked.at(-1)?.text).toContain('sunny in Berlin')
      await expectCharged(2)
    })

    it('parses structured output', async () => {
      const client = await open()
      const schema = z.toJSONSchema(parameters) as { [key: string]: unknown }
      const message = await client.messages.create({
        model: MODEL,
        max_tokens: 100,
        messages: [user],
        output_config: { format: { type: 'json_schema', schema } },
      })
      expect(message.content).toEqual([{ type: 'text', text: OBJECT }])
    })

    it('can abort a stream, and pays for what arrived', async () => {
      const client = connect(await start({ onDisconnect: 'abort' }))
      const stream = await client.messages.create({
        model: MODEL,
        max_tokens: 100,
        stream: true,
        messages: [{ role: 'user', content: ENDLESS }],
      })
      for await (const event of stream) if (event.type === 'content_block_delta') stream.controller.abort()
      const end = await service.event('request-end')
      expect(end.charge?.basis).toBe('estimated')
      expect(await charges()).toEqual([end.charge!.cost])
    })

    it.each([
      ['a bad key', 'sk-unknown', 401, Anthropic.AuthenticationError, 'authentication_error'],
      ['no credit', tokens.poor, 402, Anthropic.APIError, 'billing_error'],
    ])('is refused with %s', async (_, key, status, type, name) => {
      const client = await open(key)
      const error = await client.messages
        .create({ model: MODEL, max_tokens: 100, messages: [user] })
        .catch((caught) => caught)
      expect(error).toBeInstanceOf(type)
      expect(error).toMatchObject({ status, error: { type: 'error', error: { type: name } } })
      expect(service.asked).toEqual([])
    })

    it('lists the models and retrieves one', async () => {
      const client = await open()
      const list = await client.models.list()
      expect(list.data[0]).toMatchObject({
        type: 'model',
        id: MODEL,
        display_name: 'Fast',
        created_at: '2023-11-14T22:13:20Z',
      })
      expect(list.hasNextPage()).toBe(false)
      expect(await client.models.retrieve(MODEL)).toEqual(list.data[0])
      const error = await client.models.retrieve('acme/none').catch((caught) => caught)
      expect(error).toBeInstanceOf(Anthropic.NotFoundError)
    })
  })

  describe("the AI SDK's Anthropic provider", () => {
    const open = async () => createAnthropic({ baseURL: await start(), apiKey: API_KEY })(MODEL)
    const tools = {
      [CALL.name]: toolOfAi({ inputSchema: parameters, execute: async () => 'sunny' }),
    }

    it('runs a tool in a loop, and reads the cost of each step', async () => {
      const result = await generateText({
        model: await open(),
        prompt: QUESTION,
        tools,
        stopWhen: stepCountIs(3),
        maxRetries: 0,
      })
      expect(result.text).toBe(ANSWER)
      expect(result.steps.map(({ usage }) => costOf(usage.raw))).toEqual([Number(COST), Number(COST)])
      await expectCharged(2)
    })

    it('streams a conversation of several turns with a tool', async () => {
      const model = await open()
      const messages: ModelMessage[] = [{ role: 'user', content: QUESTION }]
      const providerOptions = { anthropic: { thinking: { type: 'enabled' as const, budgetTokens: 1_024 } } }
      for (const more of ['Again?', undefined]) {
        const result = streamText({
          model,
          messages,
          tools,
          providerOptions,
          stopWhen: stepCountIs(3),
          maxRetries: 0,
        })
        expect(await result.text).toBe(ANSWER)
        messages.push(...(await result.response).messages)
        if (more !== undefined) messages.push({ role: 'user', content: more })
      }
      await expectCharged(3)
    })

    it('generates an object', async () => {
      const result = await generateText({
        model: await open(),
        prompt: QUESTION,
        output: Output.object({ schema: parameters }),
        providerOptions: { anthropic: { structuredOutputMode: 'outputFormat' } },
        maxRetries: 0,
      })
      expect(result.output).toEqual(JSON.parse(OBJECT))
    })
  })
})
