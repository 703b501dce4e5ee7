import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import {
  APICallError,
  generateText,
  jsonSchema,
  type LanguageModel,
  Output,
  stepCountIs,
  streamText,
  tool,
} from 'ai'
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

interface Client {
  /** The name that this client uses for its provider in options. */
  readonly name: string
  model(baseURL: string, apiKey: string, id?: string): LanguageModel
  /** The path at which this client shows the cost of a finished step. */
  cost(step: { usage: { raw?: unknown }; providerMetadata?: unknown }): unknown
}

const clients: Readonly<Record<string, Client>> = {
  '@ai-sdk/openai-compatible': {
    name: 'compat',
    model: (baseURL, apiKey, id = MODEL) =>
      createOpenAICompatible({ name: 'compat', baseURL, apiKey, supportsStructuredOutputs: true })(id),
    cost: ({ usage }) => (usage.raw as { cost?: unknown } | undefined)?.cost,
  },
  '@openrouter/ai-sdk-provider': {
    name: 'openrouter',
    model: (baseURL, apiKey, id = MODEL) => createOpenRouter({ baseURL, apiKey })(id),
    cost: ({ providerMetadata }) =>
      (providerMetadata as { openrouter?: { usage?: { cost?: unknown } } } | undefined)?.openrouter?.usage
        ?.cost,
  },
}

const schema = jsonSchema<{ city: string }>({
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
})
const prompt = 'How is the weather?'
const maxRetries = 0

describe.each(
  Object.keys(providers).flatMap((provider) => Object.keys(clients).map((client) => ({ client, provider }))),
)('$client through $provider', ({ client, provider }) => {
  const { cost, model, name } = clients[client]!
  let service: Service
  let ours: LanguageModel
  beforeAll(async () => {
    service = await startService(provider)
    ours = model(service.baseURL, KEY)
  })
  afterAll(() => service.close())

  it('completes a chat and reads the cost', async () => {
    const result = await generateText({ model: ours, prompt, maxRetries })
    expect(result.text).toBe(TEXT)
    expect(result.finishReason).toBe('stop')
    expect(result.usage).toMatchObject({ inputTokens: 11, outputTokens: 7 })
    expect(cost(result)).toBe(COST)
  })

  it('streams a chat and reads the cost', async () => {
    const result = streamText({ model: ours, prompt, maxRetries })
    let text = ''
    for await (const piece of result.textStream) text += piece
    expect(text).toBe(TEXT)
    expect(cost((await result.steps)[0]!)).toBe(COST)
  })

  it.each(['generated', 'streamed'])('runs tools to the end, %s', async (mode) => {
    const cities: string[] = []
    const options = {
      model: ours,
      prompt,
      maxRetries,
      stopWhen: stepCountIs(3),
      tools: {
        [TOOL.name]: tool({
          inputSchema: schema,
          execute: ({ city }) => {
            cities.push(city)
            return 'sunny'
          },
        }),
      },
    }
    const result = mode === 'generated' ? await generateText(options) : streamText(options)
    expect(await result.text).toBe(TEXT)
    expect(cities).toEqual(['Berlin'])
    expect((await result.steps).map((step) => cost(step))).toEqual([COST, COST])
  })

  it('parses structured output', async () => {
    const result = await generateText({ model: ours, prompt, maxRetries, output: Output.object({ schema }) })
    expect(result.output).toEqual(JSON.parse(OBJECT))
  })

  it('sends a router field in its provider options', async () => {
    const ended = service.nextEnd()
    const providerOptions = { [name]: { action: 'summary' } }
    await generateText({ model: ours, prompt, maxRetries, providerOptions })
    expect((await ended).action).toBe('summary')
  })

  it('aborts a stream midway, and the call ends', async () => {
    const ended = service.nextEnd()
    const controller = new AbortController()
    const result = streamText({ model: ours, prompt: ENDLESS, maxRetries, abortSignal: controller.signal })
    for await (const part of result.fullStream) if (part.type === 'text-delta') controller.abort()
    expect((await ended).outcome).toBe('client-left')
  })

  it('receives errors with their code and message', async () => {
    const fails = (apiKey: string, id?: string) =>
      generateText({ model: model(service.baseURL, apiKey, id), prompt, maxRetries }).catch(
        (error: unknown) => error,
      )
    for (const [error, statusCode, message] of [
      [await fails('sk-wrong'), 401, /not known/],
      [await fails(KEY, 'no/such'), 404, /no\/such/],
      [await fails(POOR_KEY), 402, /credits/],
    ] as const) {
      expect(APICallError.isInstance(error)).toBe(true)
      expect(error).toMatchObject({ statusCode, message: expect.stringMatching(message), isRetryable: false })
    }
  })
})
