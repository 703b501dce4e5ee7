import { createOpenAI } from '@ai-sdk/openai'
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents'
import {
  APICallError,
  convertToModelMessages,
  defaultSettingsMiddleware,
  generateText,
  type ModelMessage,
  Output,
  readUIMessageStream,
  stepCountIs,
  streamText,
  tool as toolOfAi,
  type UIMessage,
  wrapLanguageModel,
} from 'ai'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { afterEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { ANSWER, agent, CALL, ENDLESS, OBJECT, PREAMBLE } from '../helpers/agent-upstream.js'
import { nanos } from '../helpers/decimals.js'
import { API_KEY, MODEL, type ServiceOptions, tokens, WireService } from '../wire/service.js'
import { PROVIDERS } from './providers.js'

setTracingDisabled(true)

/** 11 x 2 and 7 x 8 millionths, and the price of the request. */
const COST = '0.000178'
const QUESTION = 'How is the weather in Berlin?'
const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const parameters = z.object({ city: z.string() })
const Place = z.object({ city: z.string() })

let service: WireService
afterEach(() => service.close())

async function charges(): Promise<readonly bigint[]> {
  const { entries } = await service.ledger.entries({ account: 'alice' }, CONTEXT)
  return entries.flatMap(({ charge, kind }) => (kind === 'charge' && charge ? [charge.cost] : []))
}

async function expectCharged(calls: number): Promise<void> {
  expect(await charges()).toEqual(Array.from({ length: calls }, () => nanos(COST)))
}

type WithCost = { readonly cost: number }
const costOf = (usage: unknown) => (usage as WithCost).cost

describe.each(PROVIDERS)('the Responses API through %s:', (_, dialect, adapter) => {
  async function start(options: ServiceOptions = {}): Promise<string> {
    service = await WireService.start({ adapter, ...options })
    service.upstream.script(agent(dialect))
    return service.host.baseUrl
  }

  describe('the openai client', () => {
    const open = async (apiKey = API_KEY) => new OpenAI({ baseURL: await start(), apiKey, maxRetries: 0 })
    const tools: OpenAI.Responses.FunctionTool[] = [
      { type: 'function', name: CALL.name, parameters: z.toJSONSchema(parameters), strict: true },
    ]

    it('creates a response, and reads its text and its cost', async () => {
      const client = await open()
      const response = await client.responses.create({ model: MODEL, input: QUESTION })
      expect(response.output_text).toBe(ANSWER)
      expect(response).toMatchObject({ status: 'completed', model: MODEL, store: false })
      expect(costOf(response.usage)).toBe(Number(COST))
      await expectCharged(1)
    })

    it.each([false, true])('runs a tool over several turns (stream: %s)', async (stream) => {
      const client = await open()
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: QUESTION }]
      const ask = async () => {
        const request = {
          model: MODEL,
          input,
          tools,
          include: ['reasoning.encrypted_content' as const],
          store: false,
        }
        if (!stream) return client.responses.create(request)
        return client.responses.stream(request).finalResponse()
      }
      const first = await ask()
      const call = first.output.find((item) => item.type === 'function_call')!
      expect(call).toMatchObject({ call_id: CALL.id, name: CALL.name, arguments: CALL.arguments })
      expect(first.output_text).toBe(PREAMBLE)
      expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call'])
      const said = (response: OpenAI.Responses.Response) =>
        response.output as OpenAI.Responses.ResponseInputItem[]
      input.push(...said(first), { type: 'function_call_output', call_id: CALL.id, output: 'sunny' })
      const second = await ask()
      expect(second.output_text).toBe(ANSWER)
      input.push(...said(second), { role: 'user', content: 'Thanks. Again?' })
      expect((await ask()).output_text).toBe(ANSWER)
      expect(costOf(second.usage)).toBe(Number(COST))
      await expectCharged(3)
    })

    it('parses structured output', async () => {
      const client = await open()
      const response = await client.responses.parse({
        model: MODEL,
        input: QUESTION,
        text: { format: zodTextFormat(Place, 'place') },
      })
      expect(response.output_parsed).toEqual(JSON.parse(OBJECT))
      await expectCharged(1)
    })

    it('can abort a stream, and pays for what arrived', async () => {
      const baseURL = await start({ onDisconnect: 'abort' })
      const client = new OpenAI({ baseURL, apiKey: API_KEY, maxRetries: 0 })
      const stream = await client.responses.create({ model: MODEL, input: ENDLESS, stream: true })
      for await (const event of stream)
        if (event.type === 'response.output_text.delta') stream.controller.abort()
      const end = await service.event('request-end')
      expect(end.charge?.basis).toBe('estimated')
      expect(await charges()).toEqual([end.charge!.cost])
    })

    it.each([
      ['a bad key', 'sk-unknown', 401, 'invalid_api_key'],
      ['no credit', tokens.poor, 402, 'insufficient_credits'],
    ])('reads the error for %s', async (_, key, status, code) => {
      const client = await open(key)
      const failed = client.responses.create({ model: MODEL, input: QUESTION, stream: true })
      await expect(failed).rejects.toMatchObject({ status, code })
    })
  })

  describe('@ai-sdk/openai in its default mode', () => {
    const model = async () => createOpenAI({ baseURL: await start(), apiKey: API_KEY })(MODEL)
    const tools = {
      [CALL.name]: toolOfAi({ inputSchema: parameters, execute: async ({ city }) => `sunny in ${city}` }),
    }

    it('runs a tool loop', async () => {
      const result = await generateText({
        model: await model(),
        tools,
        prompt: QUESTION,
        stopWhen: stepCountIs(5),
        maxRetries: 0,
      })
      expect(result.text).toBe(ANSWER)
      expect(result.steps).toHaveLength(2)
      expect(result.steps.map(({ usage }) => costOf(usage.raw))).toEqual([Number(COST), Number(COST)])
      await expectCharged(2)
    })

    it('streams a tool loop, and continues the conversation if nothing is to be stored', async () => {
      const messages: ModelMessage[] = [{ role: 'user', content: QUESTION }]
      const options = {
        model: await model(),
        tools,
        stopWhen: stepCountIs(5),
        maxRetries: 0,
        providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
      }
      const result = streamText({ ...options, messages })
      let text = ''
      for await (const piece of result.textStream) text += piece
      expect(text).toBe(PREAMBLE + ANSWER)
      messages.push(...(await result.response).messages, { role: 'user', content: 'Again?' })
      const again = await generateText({ ...options, messages })
      expect(again.text).toBe(ANSWER)
      await expectCharged(3)
    })

    it.each([false, true])('continues a conversation over several turns (stream: %s)', async (stream) => {
      const options = { model: await model(), tools, stopWhen: stepCountIs(5), maxRetries: 0 }
      const messages: ModelMessage[] = []
      for (const question of [QUESTION, 'Thanks. Again?', 'And tomorrow?']) {
        messages.push({ role: 'user', content: question })
        const result = stream
          ? streamText({ ...options, messages })
          : await generateText({ ...options, messages })
        expect(await result.text).toBe(ANSWER)
        messages.push(...(await result.response).messages)
      }
      const last = service.asked.at(-1)!.text
      expect(last).not.toContain('item_reference')
      expect(last.split(JSON.stringify(ANSWER).slice(1, -1))).toHaveLength(3)
      expect(last.split(PREAMBLE)).toHaveLength(2)
      expect(last.indexOf(PREAMBLE)).toBeLessThan(last.indexOf('sunny in Berlin"'))
      await expectCharged(4)
    })

    it('continues after a stopped reply, with the words that were read', async () => {
      const baseURL = await start({ onDisconnect: 'abort' })
      const options = { model: createOpenAI({ baseURL, apiKey: API_KEY })(MODEL), maxRetries: 0 }
      const ask: UIMessage = { id: '1', role: 'user', parts: [{ type: 'text', text: ENDLESS }] }
      const controller = new AbortController()
      const stopped = streamText({
        ...options,
        messages: await convertToModelMessages([ask]),
        abortSignal: controller.signal,
      })
      let said: UIMessage | undefined
      const stream = stopped.toUIMessageStream({ originalMessages: [ask], generateMessageId: () => '2' })
      for await (const message of readUIMessageStream({ stream })) {
        said = message
        if (message.parts.some((part) => part.type === 'text' && part.text === 'on and on'))
          controller.abort()
      }
      await service.event('request-end')
      const next: UIMessage = { id: '3', role: 'user', parts: [{ type: 'text', text: QUESTION }] }
      service.upstream.script(agent(dialect, { endless: false }))
      const messages = await convertToModelMessages([ask, said!, next])
      expect(JSON.stringify(messages)).toContain('itemId')
      expect((await generateText({ ...options, messages })).text).toBe(ANSWER)
      expect(service.asked.at(-1)!.text).toContain('on and on')
    })

    it('is told which setting to use if it refers to a reply that is gone, before anything is charged', async () => {
      const baseURL = await start({ router: () => ({ responses: { recall: false } }) })
      const options = { model: createOpenAI({ baseURL, apiKey: API_KEY })(MODEL), maxRetries: 0 }
      const messages: ModelMessage[] = [{ role: 'user', content: QUESTION }]
      const { response } = await generateText({ ...options, messages })
      messages.push(...response.messages, { role: 'user', content: 'Again?' })
      const failure: unknown = await generateText({ ...options, messages }).catch((error: unknown) => error)
      expect(APICallError.isInstance(failure) && failure.message).toContain(
        'set providerOptions.openai.store to false',
      )
      expect(failure).toMatchObject({ statusCode: 400, isRetryable: false })
      await expectCharged(1)
    })

    it('continues a conversation if its model has that setting', async () => {
      const settings = { providerOptions: { openai: { store: false } } }
      const options = {
        model: wrapLanguageModel({
          model: await model(),
          middleware: defaultSettingsMiddleware({ settings }),
        }),
        tools,
        stopWhen: stepCountIs(5),
        maxRetries: 0,
      }
      const messages: ModelMessage[] = [{ role: 'user', content: QUESTION }]
      const first = await generateText({ ...options, messages })
      messages.push(...first.response.messages, { role: 'user', content: 'Again?' })
      expect((await generateText({ ...options, messages })).text).toBe(ANSWER)
      expect(service.asked.at(-1)!.text).toContain(ANSWER)
      await expectCharged(3)
    })

    it('generates an object', async () => {
      const result = await generateText({
        model: await model(),
        output: Output.object({ schema: Place }),
        prompt: QUESTION,
        maxRetries: 0,
      })
      expect(result.output).toEqual(JSON.parse(OBJECT))
    })
  })

  describe('@openai/agents', () => {
    it.each([false, true])('completes a task with a tool (stream: %s)', async (stream) => {
      const openAIClient = new OpenAI({ baseURL: await start(), apiKey: API_KEY, maxRetries: 0 })
      const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses: true }) })
      const weather = tool({
        name: CALL.name,
        description: 'The weather of a city',
        parameters,
        execute: async ({ city }) => `sunny in ${city}`,
      })
      const someone = new Agent({
        name: 'Meteorologist',
        instructions: 'Be short.',
        model: MODEL,
        tools: [weather],
      })
      if (stream) {
        const result = await runner.run(someone, QUESTION, { stream: true })
        await result.completed
        expect(result.finalOutput).toBe(ANSWER)
      } else {
        expect((await runner.run(someone, QUESTION)).finalOutput).toBe(ANSWER)
      }
      await expectCharged(2)
    })
  })
})
