import { OpenRouter } from '@openrouter/sdk'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import type { ProviderAdapter } from '../../src/adapters.js'
import { memoryCatalogue, memoryProviders } from '../../src/index.js'
import { ACCESS_TOKEN, API_KEY, WireService } from './service.js'

let service: WireService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

const PRICES = { input: '0.15', output: '0.6', cachedInput: '0.0375', request: '0.0002' }
const CHATS: ProviderAdapter = { chat: async () => {} } as never
const EMBEDS: ProviderAdapter = { embeddings: async () => {} } as never

async function start(more: { publicModels?: boolean } = {}) {
  service = await WireService.start({
    router: () => ({
      ...more,
      catalogue: memoryCatalogue([
        {
          id: 'acme/plain',
          prices: PRICES,
          contextLength: 8_000,
          maxOutputTokens: 2_000,
          modalities: ['text', 'image'],
        },
        { id: 'acme/strict', prices: PRICES, supportedParameters: ['temperature', 'max_tokens'] },
        { id: 'acme/embed', prices: PRICES, operations: ['embeddings'] },
        { id: 'acme/routed', prices: PRICES },
      ]),
      providers: memoryProviders([
        { id: 'chats', adapter: CHATS, models: { 'acme/plain': 'plain', 'acme/strict': 'strict' } },
        { id: 'embeds', adapter: EMBEDS, models: { 'acme/embed': 'embed', 'acme/routed': 'routed' } },
      ]),
    }),
  })
  return service
}

type Listed = { id: string; pricing: Record<string, string> }
const listOf = async (path: string, token?: string) => {
  const response = await service!.host.request(path, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  })
  return { status: response.status, body: (await response.json()) as { data: Listed[]; error?: object } }
}

describe('the list of models', () => {
  it('is what the OpenRouter SDK reads', async () => {
    const { host } = await start()
    const client = new OpenRouter({ apiKey: API_KEY, serverURL: host.baseUrl })
    const { data } = (await client.models.list({})).result
    expect(data.map(({ id }) => id)).toEqual(['acme/plain', 'acme/strict', 'acme/embed', 'acme/routed'])
    expect(data[0]).toMatchObject({
      canonicalSlug: 'acme/plain',
      contextLength: 8_000,
      architecture: {
        modality: 'text+image->text',
        inputModalities: ['text', 'image'],
        outputModalities: ['text'],
      },
      topProvider: { contextLength: 8_000, maxCompletionTokens: 2_000 },
      pricing: { prompt: '0.00000015', completion: '0.0000006', request: '0.0002' },
    })
    expect(data[0]!.supportedParameters).toContain('tools')
    expect(data[1]!.supportedParameters).toEqual(['temperature', 'max_tokens'])
    expect(data[2]!.architecture.outputModalities).toEqual(['embeddings'])
  })

  it('is what the OpenRouter SDK reads, even if models have no prices, or none that can be read', async () => {
    const models = [
      { id: 'acme/priceless', created: 0, ownedBy: 'acme' },
      { id: 'acme/halfway', created: 0, ownedBy: 'acme', prices: { input: 'cheap', output: '0.6' } },
    ] as const
    service = await WireService.start({
      router: () => ({
        catalogue: { get: async () => undefined, list: async () => models as never },
      }),
    })
    const client = new OpenRouter({ apiKey: API_KEY, serverURL: service.host.baseUrl })
    const { data } = (await client.models.list({})).result
    expect(data.map(({ id, pricing: { completion, prompt } }) => [id, prompt, completion])).toEqual([
      ['acme/priceless', '-1', '-1'],
      ['acme/halfway', '-1', '0.0000006'],
    ])
  })

  it('is what model pickers read', async () => {
    await start()
    const { body } = await listOf('/models', API_KEY)
    // Zed requires these of every model, or shows none.
    const strict = z.object({
      id: z.string(),
      name: z.string(),
      created: z.int().nonnegative(),
      description: z.string(),
      context_length: z.int().nonnegative().nullish(),
      supported_parameters: z.array(z.string()),
      architecture: z.object({ input_modalities: z.array(z.string()) }),
    })
    expect(z.array(strict).safeParse(body.data).error).toBeUndefined()
    // Roo Code reads the prices per token, takes a model with a price of cached input for one that caches, and leaves out
    // models that write images.
    const read = z.array(
      z.object({
        pricing: z.object({
          prompt: z.string(),
          completion: z.string(),
          input_cache_read: z.string().nullish(),
          input_cache_write: z.string().nullish(),
        }),
        architecture: z.object({ output_modalities: z.array(z.string()) }),
        top_provider: z.object({ max_completion_tokens: z.number().nullish() }),
      }),
    )
    for (const { architecture, pricing } of read.parse(body.data)) {
      expect(architecture.output_modalities).not.toContain('image')
      expect(Number.parseFloat(pricing.prompt) * 1_000_000).toBeCloseTo(0.15)
      expect(Number.parseFloat(pricing.input_cache_read!) * 1_000_000).toBeCloseTo(0.0375)
    }
  })

  it("has the app's markup in each price that an access token sees", async () => {
    await start()
    const { body } = await listOf('/models', ACCESS_TOKEN)
    // The app adds 33.33 % and 0.0005 a call.
    expect(body.data[0]!.pricing).toEqual({
      prompt: '0.000000199995',
      completion: '0.00000079998',
      input_cache_read: '0.00000004999875',
      input: '0.199995',
      output: '0.79998',
      cachedInput: '0.04999875',
      request: '0.00076666',
    })
    expect((await listOf('/models', API_KEY)).body.data[0]!.pricing).toMatchObject(PRICES)
    const one = await listOf('/models/acme/plain', ACCESS_TOKEN)
    expect(one.body).toMatchObject({ pricing: { input: '0.199995' } })
  })

  it.each([
    ['supported_parameters=temperature', ['acme/plain', 'acme/strict', 'acme/routed']],
    ['supported_parameters=temperature,tools', ['acme/plain', 'acme/routed']],
    ['supported_parameters=temperature&supported_parameters=tools', ['acme/plain', 'acme/routed']],
    ['supported_parameters=none', []],
    ['operation=embeddings', ['acme/embed', 'acme/routed']],
    ['operation=chat', ['acme/plain', 'acme/strict']],
    ['operation=chat&supported_parameters=tools', ['acme/plain']],
    ['limit=1', ['acme/plain', 'acme/strict', 'acme/embed', 'acme/routed']],
  ])('with ?%s has %j', async (query, ids) => {
    await start()
    const { body } = await listOf(`/models?${query}`, API_KEY)
    expect(body.data.map(({ id }) => id)).toEqual(ids)
  })

  it('refuses an operation that does not exist', async () => {
    await start()
    const { body, status } = await listOf('/models?operation=paint', API_KEY)
    expect(status).toBe(400)
    expect(body.error).toMatchObject({
      code: 'invalid_request',
      param: 'operation',
      message: 'operation must be chat or embeddings.',
    })
  })

  it('is built once for everybody without a credential, however it is filtered, and again once it has changed', async () => {
    const models = Array.from({ length: 500 }, (_, index) => ({ id: `acme/${index}`, prices: PRICES }))
    const catalogue = memoryCatalogue(models)
    service = await WireService.start({ router: () => ({ publicModels: true, catalogue }) })
    const { host } = service
    const writes = vi.spyOn(JSON, 'stringify')
    onTestFinished(() => writes.mockRestore())
    const written = () =>
      writes.mock.calls.filter(([value]) => /^acme\//.test((value as { id?: string } | null)?.id ?? ''))
        .length
    const first = await (await host.request('/models')).text()
    expect(written()).toBe(500)
    for (const query of [
      '',
      '?supported_parameters=temperature',
      '?supported_parameters=tools,temperature',
    ]) {
      const response = await host.request(`/models${query}`)
      expect([query, (await response.text()) === first]).toEqual([query, true])
    }
    expect(written()).toBe(500)
    expect(JSON.parse(first)).toMatchObject({ total_count: 500, links: { next: null } })
    catalogue.remove('acme/0')
    expect((await listOf('/models')).body.data).toHaveLength(499)
    expect(written()).toBe(999)
  })

  it('is not sent again to a client without a credential that already has it', async () => {
    const { host } = await start({ publicModels: true })
    const first = await host.request('/models')
    await first.text()
    const { etag } = first.headers
    expect(first.headers['cache-control']).toBe('private, no-cache')
    const again = await host.request('/models', { headers: { 'if-none-match': etag! } })
    expect([again.status, await again.text(), again.headers.etag]).toEqual([304, '', etag])
    expect(again.headers['content-length']).toBeUndefined()
    const other = await host.request('/models', { headers: { 'if-none-match': '"other"' } })
    expect([other.status, (await other.text()).length]).toEqual([
      200,
      Number(first.headers['content-length']),
    ])
    const headers = { authorization: `Bearer ${ACCESS_TOKEN}`, 'if-none-match': etag! }
    const own = await host.request('/models', { headers })
    expect([own.status, own.headers['cache-control']]).toEqual([200, 'no-store'])
    await own.text()
  })

  it('needs a credential unless the host made it public', async () => {
    await start()
    expect((await listOf('/models')).status).toBe(401)
    await service!.close()
    await start({ publicModels: true })
    expect((await listOf('/models')).body.data).toHaveLength(4)
    expect((await listOf('/models/acme/plain')).status).toBe(200)
    expect((await listOf('/models/acme/none')).status).toBe(404)
    const ofAnthropic = await service!.host.request('/models/acme/none', {
      headers: { 'anthropic-version': '2023-06-01' },
    })
    expect(await ofAnthropic.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
    expect((await listOf('/models', 'sk-unknown')).status).toBe(401)
    expect((await listOf('/models', ACCESS_TOKEN)).body.data[0]!.pricing.input).toBe('0.199995')
  })
})
