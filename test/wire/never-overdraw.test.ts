import { afterEach, describe, expect, it } from 'vitest'
import { anthropic, memoryProviders } from '../../src/index.js'
import type { MemoryModel } from '../../src/stores.js'
import type { Script } from '../helpers/scripted-upstream.js'
import { MODEL, PRICES, providerReply, type ServiceOptions, WireService } from './service.js'

const MEDIA_TOKENS = 30_000
const LISTED: MemoryModel = {
  id: MODEL,
  prices: PRICES,
  contextLength: 400_000,
  mediaTokens: MEDIA_TOKENS,
  maxOutputTokens: 1_000,
}

let service: WireService
afterEach(() => service.close())

type Sent = Readonly<Record<string, unknown>> & {
  readonly messages: readonly { readonly content: unknown }[]
}

/**
 * The most expensive kind of provider: each byte of text is a token, it writes as much as it may, and bills
 * thinking on top.
 */
const dearest: Script = async (reply, request) => {
  const sent = request.body as Sent
  const { max_tokens: bound, messages, n = 1, thinking, tools } = sent
  let prompt =
    tools === undefined ? 0 : Buffer.byteLength(JSON.stringify(tools, null, 4).replaceAll(/ +/g, ' ')) + 600
  for (const { content } of messages) {
    prompt += 14
    for (const part of typeof content === 'string' ? [{ text: content }] : (content as { text?: string }[])) {
      prompt += part.text === undefined ? MEDIA_TOKENS : Buffer.byteLength(part.text.normalize('NFKC'))
    }
  }
  const budget = (thinking as { budget_tokens: number } | undefined)?.budget_tokens ?? 0
  const completion = ((bound as number) + budget) * (n as number)
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  reply.head(200, { 'content-type': 'application/json' })
  await reply.write(JSON.stringify({ ...providerReply(), usage }))
  reply.end()
}

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start({
    models: [LISTED],
    router: () => ({ neverOverdraw: true }),
    ...options,
  })
  service.upstream.script(dearest)
}

async function charge(body: object) {
  const response = await service.post({ model: MODEL, ...body })
  expect(response.status, await response.text()).toBe(200)
  const end = await service.event('request-end')
  return end.charge!
}

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })

describe("under neverOverdraw, a call costs exactly the provider's bill, and no more than its hold, for", () => {
  it.each<[name: string, body: object]>([
    ['prose', user('A letter to the editor.')],
    ['base64', user(Buffer.from('x'.repeat(3_000)).toString('base64'))],
    ['a rare script', user('ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ '.repeat(100))],
    ['text that becomes longer when normalised', user('\ufdfa'.repeat(300))],
    ['a PDF by its address', user([{ type: 'file', file: { file_data: 'https://example.com/a.pdf' } }])],
    [
      'a video',
      user([
        { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
        { type: 'text', text: 'Hm?' },
      ]),
    ],
    [
      'ten images',
      user(
        Array.from({ length: 10 }, () => ({
          type: 'image_url',
          image_url: { url: 'https://example.com/a.png' },
        })),
      ),
    ],
    ['many empty messages', { messages: Array.from({ length: 200 }, () => ({ role: 'user', content: '' })) }],
    [
      'tools that contain lists of digits',
      {
        ...user('Go'),
        tools: [
          {
            type: 'function',
            function: { name: 'f', parameters: { enum: Array.from({ length: 500 }, (_, at) => at % 10) } },
          },
        ],
      },
    ],
    ['a limit above the model’s maximum', { ...user('Go'), max_tokens: 50_000 }],
    ['several choices', { ...user('Go'), n: 3, max_tokens: 700 }],
    [
      'a budget for thinking',
      { ...user('Go'), max_tokens: 900, thinking: { type: 'enabled', budget_tokens: 5_000 } },
    ],
  ])('%s', async (_name, body) => {
    await start()
    const made = await charge(body)
    expect(made.shortfall).toBeUndefined()
    expect(made.basis).toBe('reported')
    const sent = service.asked[0]!.body as Record<string, number>
    expect(sent.max_tokens).toBeLessThanOrEqual(LISTED.maxOutputTokens!)
  })
})

describe('under neverOverdraw, on a route whose provider escapes the contents of tools,', () => {
  it.each<['html' | 'ascii', string]>([
    ['html', '<'.repeat(3_000)],
    ['ascii', '😀'.repeat(1_500)],
  ])('a call costs no more than its hold: %s', async (promptEscapes, text) => {
    await start({
      router: ({ providers: _ }) => ({
        neverOverdraw: true,
        providers: memoryProviders([
          {
            id: 'p0',
            models: { [MODEL]: 'upstream' },
            adapter: {
              async chat({ request }, take) {
                const tokens = JSON.stringify(request.tools).replace(/[<\u0080-\uffff]/g, '\\u0000').length
                const results = JSON.stringify(request.messages.at(-1)!.content).replace(
                  /[<\u0080-\uffff]/g,
                  '\\u0000',
                )
                await take([
                  { type: 'completion', completion: { ...providerReply() } },
                  { type: 'usage', usage: { prompt: tokens + results.length, completion: 1 } },
                ])
                return { terminated: true }
              },
            },
            promptEscapes,
          },
        ]),
      }),
    })
    const made = await charge({
      messages: [
        { role: 'user', content: 'Go' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: text },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: text } }],
    })
    expect(made.usage.prompt).toBeGreaterThan(2 * 18_000)
    expect(made.shortfall).toBeUndefined()
  })
})

describe('media without a known maximum, under neverOverdraw,', () => {
  it('are refused before any hold, naming the part and the setting that the host can change', async () => {
    await start({ models: [{ id: MODEL, prices: PRICES }] })
    const part = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    const response = await service.post({
      model: MODEL,
      ...user([{ type: 'text', text: 'Hm' }, part]),
    })
    expect(response.status).toBe(400)
    const { error } = JSON.parse(await response.text())
    expect(error).toMatchObject({ code: 'invalid_request', param: 'messages.0.content.1' })
    expect(error.message).toMatch(/mediaTokens or contextLength/)
    expect(service.asked).toEqual([])
  })
})

describe('without neverOverdraw', () => {
  it("a limit above the model's maximum is held, sent and charged as the maximum", async () => {
    await start({ router: () => ({}) })
    const made = await charge({ ...user('Go'), max_tokens: 20_000 })
    expect((service.asked[0]!.body as Sent).max_tokens).toBe(1_000)
    expect(made.usage.completion).toBe(1_000)
  })

  it('more tokens than the catalogue lists are charged as reported, and logged', async () => {
    await start({ router: () => ({}) })
    const usage = { prompt_tokens: 20, completion_tokens: 20_000, total_tokens: 20_020 }
    service.upstream.script(async (reply) => {
      reply.head(200, { 'content-type': 'application/json' })
      await reply.write(JSON.stringify({ ...providerReply(), usage }))
      reply.end()
    })
    const made = await charge({ ...user('Go'), max_tokens: 20_000 })
    expect(made).toMatchObject({ basis: 'reported', usage: { prompt: 20, completion: 20_000 } })
    expect(service.events.filter(({ type }) => type === 'usage-implausible')).toMatchObject([
      { field: 'completion', value: '20000' },
    ])
  })

  it('the hold for the same text is larger if the adapter states a factor', async () => {
    const held: (bigint | undefined)[] = []
    const text = 'The ferry was late again, so we walked along the harbour. '.repeat(50)
    for (const adapter of [
      undefined,
      (baseUrl: string) => anthropic({ apiKey: 'sk-ant-0123456789', baseUrl }),
    ]) {
      await start({
        router: () => ({}),
        models: [{ id: MODEL, prices: { input: '10', output: '0' } }],
        ...(adapter && { adapter }),
      })
      service.upstream.script(async (reply) => {
        reply.head(200, { 'content-type': 'application/json' })
        const usage = { input_tokens: 1, output_tokens: 1 }
        const message = {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text: 'Hi' }],
          stop_reason: 'end_turn',
        }
        await reply.write(JSON.stringify(adapter ? { ...message, usage } : { ...providerReply(), usage }))
        reply.end()
      })
      await service.post({ model: MODEL, ...user(text) })
      held.push((await service.event('request-end')).holdAmount)
      if (adapter === undefined) await service.close()
    }
    expect(Number(held[1]) / Number(held[0])).toBeCloseTo(1.5, 1)
  })
})
