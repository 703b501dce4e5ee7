import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { afterEach, describe, expect, test } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { openaiCompatible } from '../../src/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import type { MemoryModel } from '../../src/stores.js'
import type { ScriptedReply } from '../helpers/scripted-upstream.js'
import {
  API_KEY,
  ask,
  framesOf,
  MODEL,
  providerReply,
  type ServiceOptions,
  UPSTREAM_KEY,
  usageChunk,
  WireService,
} from './service.js'

const PRICES = {
  input: '2',
  cachedInput: '1',
  output: '8',
  audioInput: '40',
  audioOutput: '80',
  imageInput: '5',
  imageOutput: '30',
}
const LISTED: MemoryModel = { id: MODEL, prices: PRICES, mediaTokens: 1_000, maxOutputTokens: 1_000 }

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 50,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 10, audio_tokens: 20, image_tokens: 30, text_tokens: 50 },
  completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 12, image_tokens: 8 },
}
/** Millionths of a credit. The 10 cached tokens may all be audio or images, so they save nothing. */
const INPUT = 20 * 40 + 30 * 5 + 50 * 2
const OUTPUT = 12 * 80 + 8 * 30 + 30 * 8
const MILLIONTH = 1_000n

const AUDIO = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
const SHOWN = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }, IMAGE] }] }
const ASKED = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Listen.' }, AUDIO] }] }

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }

let service: WireService
afterEach(() => service.close())

function answer(usage: object, isStream: boolean) {
  return async (reply: ScriptedReply): Promise<void> => {
    reply.head(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    const choice = { index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }
    const chunk = { ...usageChunk(), choices: [choice], usage: null }
    const frames = [JSON.stringify(chunk), JSON.stringify(usageChunk(usage)), '[DONE]']
    const body = isStream
      ? frames.map((frame) => `data: ${frame}\n\n`).join('')
      : JSON.stringify(providerReply({ usage }))
    await reply.write(body)
    reply.end()
  }
}

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start({ models: [LISTED], ...options })
}

/** Asks for a reply, and returns the usage that the client reads. */
async function usageOf(provider: object, isStream: boolean, more: object = ASKED): Promise<object> {
  service.upstream.scriptOnce(answer(provider, isStream))
  const response = await service.post(ask({ stream: isStream, ...more }))
  const text = await response.text()
  expect(response.status, text).toBe(200)
  const replies = isStream ? framesOf(text) : [JSON.parse(text)]
  return replies.at(-1)!.usage as object
}

const adapters: readonly (readonly [string, (baseUrl: string) => ProviderAdapter])[] = [
  ['openaiCompatible', (baseUrl) => openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY })],
  [
    'aiSdk',
    (baseURL) => {
      const sdk = createOpenAICompatible({ name: 'p', baseURL, apiKey: UPSTREAM_KEY, includeUsage: true })
      return aiSdk({ model: sdk })
    },
  ],
]

describe.each(adapters)('audio and image tokens that %s reports', (_, adapter) => {
  test.each([false, true])('are charged and passed on; stream: %s', async (isStream) => {
    await start({ adapter })
    const usage = await usageOf(USAGE, isStream, SHOWN)
    expect(usage).toMatchObject({
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 10, audio_tokens: 20, image_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 12, image_tokens: 8 },
      cost: (INPUT + OUTPUT) / 1_000_000,
      charge: { basis: 'reported' },
    })
    const { charge } = await service.event('request-end')
    expect(charge).toMatchObject({
      cost: BigInt(INPUT + OUTPUT) * MILLIONTH,
      usage: { audioInput: 20, audioOutput: 12, imageInput: 30, imageOutput: 8 },
    })
    const { entries } = await service.ledger.entries({ account: 'alice' }, CONTEXT)
    expect(entries.find(({ kind }) => kind === 'charge')?.charge).toEqual(charge)
    expect(await service.posted('alice')).toBe(10n ** 9n - charge!.cost)
  })

  test.each([false, true])('are absent if there are none; stream: %s', async (isStream) => {
    await start({ adapter })
    const none = { cached_tokens: 0, audio_tokens: 0, image_tokens: null }
    const usage = await usageOf({ ...USAGE, prompt_tokens_details: none }, isStream, SHOWN)
    expect(usage).toMatchObject({ prompt_tokens_details: { cached_tokens: 0 } })
    expect(JSON.stringify(usage)).not.toMatch(/"prompt_tokens_details":\{[^}]*(audio|image)_tokens/)
    const { charge } = await service.event('request-end')
    expect(charge?.cost).toBe(BigInt(100 * 2 + OUTPUT) * MILLIONTH)
  })
})

describe('audio and image tokens on the wire', () => {
  test.each([false, true])('cost as much as text if they have no prices; stream: %s', async (isStream) => {
    const { input, cachedInput, output } = PRICES
    await start({ models: [{ ...LISTED, prices: { input, cachedInput, output } }] })
    expect(await usageOf(USAGE, isStream)).toMatchObject({
      prompt_tokens_details: { cached_tokens: 10, audio_tokens: 20, image_tokens: 30 },
      cost: (90 * 2 + 10 + 50 * 8) / 1_000_000,
    })
  })

  test.each([false, true])(
    'are clamped to the tokens of which they are part; stream: %s',
    async (isStream) => {
      await start()
      const details = { audio_tokens: 70, image_tokens: 70 }
      const usage = {
        ...USAGE,
        prompt_tokens_details: details,
        completion_tokens_details: { ...details, reasoning_tokens: 5 },
      }
      expect(await usageOf(usage, isStream)).toMatchObject({
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 70, image_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 50 },
        cost: (70 * 40 + 30 * 5 + 50 * 80) / 1_000_000,
      })
    },
  )

  test.each([false, true])('are reported to the host if they are no counts; stream: %s', async (isStream) => {
    await start()
    const details = { audio_tokens: -1, image_tokens: '30' }
    expect(await usageOf({ ...USAGE, prompt_tokens_details: details }, isStream)).toMatchObject({
      prompt_tokens_details: { cached_tokens: 0 },
      cost: (100 * 2 + OUTPUT) / 1_000_000,
    })
    const odd = service.events.filter(({ type }) => type === 'usage-implausible')
    expect(odd).toMatchObject([
      { field: 'audioInput', value: '-1' },
      { field: 'imageInput', value: '"30"' },
    ])
  })

  test('are on hold at their prices if the request may have them', async () => {
    await start()
    const holdFor = async (more: Readonly<Record<string, unknown>>): Promise<bigint> => {
      let held = 0n
      service.upstream.scriptOnce(async (reply) => {
        held = await service.held('alice')
        await answer(USAGE, false)(reply)
      })
      expect((await service.post(ask(more))).status).toBe(200)
      return held
    }
    const output = BigInt(50 * 80) * MILLIONTH
    const text = (await holdFor({})) - output
    expect(text % (2n * MILLIONTH)).toBe(0n)
    const heard = (await holdFor(ASKED)) - output
    expect(heard % (40n * MILLIONTH)).toBe(0n)
    expect(heard).toBeGreaterThan(1_000n * 40n * MILLIONTH)
  })

  test.each([false, true])(
    'never cost more than the hold under neverOverdraw; stream: %s',
    async (isStream) => {
      await start({ router: () => ({ neverOverdraw: true }) })
      const usage = {
        prompt_tokens: 1_007,
        completion_tokens: 50,
        total_tokens: 1_057,
        prompt_tokens_details: { audio_tokens: 1_007 },
        completion_tokens_details: { audio_tokens: 50 },
      }
      await usageOf(usage, isStream)
      const { charge } = await service.event('request-end')
      expect(charge).toMatchObject({ cost: BigInt(1_007 * 40 + 50 * 80) * MILLIONTH })
      expect(charge).not.toHaveProperty('shortfall')
    },
  )

  test('have their prices in the list of models', async () => {
    const tiers = [{ above: 10, input: '4', output: '9', audioInput: '50', imageOutput: '60' }]
    await start({ models: [{ ...LISTED, prices: { ...PRICES, tiers } }] })
    const pricing = { ...PRICES, tiers }
    expect(await (await service.get(`/models/${MODEL}`, API_KEY)).json()).toMatchObject({ pricing })
    expect(await (await service.get('/models', API_KEY)).json()).toMatchObject({ data: [{ pricing }] })
  })
})
