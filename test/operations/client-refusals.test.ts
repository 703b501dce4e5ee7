import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { Agent, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents'
import { generateText, type LanguageModel, streamText } from 'ai'
import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryCredentials } from '../../src/index.js'
import { agent, ENDLESS } from '../helpers/agent-upstream.js'
import { nanos } from '../helpers/decimals.js'
import { API_KEY, MODEL, type ServiceOptions, tokens, WireService } from '../wire/service.js'
import { PROVIDERS } from './providers.js'

setTracingDisabled(true)

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const QUESTION = 'How is the weather in Berlin?'
const UNKNOWN_KEY = 'sk-unknown'
/** Some calls. */
const BUDGET = nanos('0.002')

/** A client at a base URL, with a key. */
interface Client {
  ask(): Promise<unknown>
  /** Asks for a stream without an end, and aborts it after the first words. */
  leave(): Promise<void>
}

type Connect = (baseURL: string, apiKey: string) => Client

function connectOpenAi(baseURL: string, apiKey: string): Client {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  return {
    ask: () => client.responses.create({ model: MODEL, input: QUESTION, max_output_tokens: 50 }),
    async leave() {
      const stream = await client.responses.create({ model: MODEL, input: ENDLESS, stream: true })
      for await (const { type } of stream)
        if (type === 'response.output_text.delta') stream.controller.abort()
    },
  }
}

function connectAgents(baseURL: string, apiKey: string): Client {
  const openAIClient = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses: true }) })
  const someone = new Agent({ name: 'Somebody', model: MODEL, modelSettings: { maxTokens: 50 } })
  return {
    ask: () => runner.run(someone, QUESTION),
    async leave() {
      const controller = new AbortController()
      const result = await runner.run(someone, ENDLESS, { stream: true, signal: controller.signal })
      for await (const { type } of result) if (type === 'raw_model_stream_event') controller.abort()
    },
  }
}

function connectAnthropic(baseURL: string, apiKey: string): Client {
  const client = new Anthropic({
    baseURL,
    apiKey,
    maxRetries: 0,
    fetch: (input, init) => fetch(String(input).replace('/v1/', '/'), init),
  })
  const asked = (content: string) => ({
    model: MODEL,
    max_tokens: 50,
    messages: [{ role: 'user' as const, content }],
  })
  return {
    ask: () => client.messages.create(asked(QUESTION)),
    async leave() {
      const stream = await client.messages.create({ ...asked(ENDLESS), stream: true })
      for await (const { type } of stream) if (type === 'content_block_delta') stream.controller.abort()
    },
  }
}

function connectAiSdk(model: LanguageModel): Client {
  return {
    ask: () => generateText({ model, prompt: QUESTION, maxOutputTokens: 50, maxRetries: 0 }),
    async leave() {
      const controller = new AbortController()
      const { textStream } = streamText({
        model,
        prompt: ENDLESS,
        maxRetries: 0,
        abortSignal: controller.signal,
      })
      for await (const _ of textStream) controller.abort()
    },
  }
}

const CLIENTS: Readonly<Record<string, Connect>> = {
  openai: connectOpenAi,
  '@ai-sdk/openai': (baseURL, apiKey) => connectAiSdk(createOpenAI({ baseURL, apiKey })(MODEL)),
  '@openai/agents': connectAgents,
  '@anthropic-ai/sdk': connectAnthropic,
  '@ai-sdk/anthropic': (baseURL, apiKey) => connectAiSdk(createAnthropic({ baseURL, apiKey })(MODEL)),
}

let service: WireService
afterEach(() => service.close())

describe.each(
  Object.keys(CLIENTS).flatMap((client) => PROVIDERS.map((provider) => [client, ...provider] as const)),
)('%s, as a client of %s,', (name, _, dialect, adapter) => {
  async function open(key: string, options: ServiceOptions = {}): Promise<Client> {
    service = await WireService.start({ adapter, ...options })
    service.upstream.script(agent(dialect))
    return CLIENTS[name]!(service.host.baseUrl, key)
  }

  async function charges(): Promise<readonly bigint[]> {
    const { entries } = await service.ledger.entries({ account: 'alice' }, CONTEXT)
    return entries.flatMap(({ charge, kind }) => (kind === 'charge' && charge ? [charge.cost] : []))
  }

  it.each([
    ['a key that is not known', UNKNOWN_KEY, 401],
    ['no credit', tokens.poor, 402],
  ])('reads that there is %s, and no provider is asked', async (_, key, status) => {
    const client = await open(key)
    expect(statusOf(await failureOf(client))).toBe(status)
    expect(service.asked).toEqual([])
  })

  it('reads that a budget is used up, after exactly the calls that it covers', async () => {
    const limits = [{ id: 'budget', unit: 'credits', amount: BUDGET, per: 'total' }] as const
    const client = await open(API_KEY, {
      router: ({ clock }) => ({
        credentials: memoryCredentials(
          { [API_KEY]: { kind: 'api-key', account: 'alice', limits } },
          { clock: clock! },
        ),
      }),
    })
    let failure: unknown
    let calls = 0
    for (; failure === undefined && calls < 1_000; calls++) failure = await failureOf(client)
    expect(statusOf(failure)).toBe(402)
    const paid = await charges()
    expect(paid).toHaveLength(calls - 1)
    expect(paid.length).toBeGreaterThan(1)
    expect(paid.reduce((sum, cost) => sum + cost, 0n)).toBeLessThanOrEqual(BUDGET)
  })

  it('pays for the words that came before it aborted', async () => {
    const client = await open(API_KEY, { onDisconnect: 'abort' })
    await client.leave().catch(() => undefined)
    const end = await service.event('request-end')
    expect(end.charge?.basis).toBe('estimated')
    expect(await charges()).toEqual([end.charge!.cost])
  })
})

function failureOf(client: Client): Promise<unknown> {
  return client.ask().then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** The status of an error, as each client names it. */
function statusOf(error: unknown): number | undefined {
  const { status, statusCode } = (error ?? {}) as { readonly status?: number; readonly statusCode?: number }
  return status ?? statusCode
}
