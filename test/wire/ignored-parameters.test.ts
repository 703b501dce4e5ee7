import { afterEach, describe, expect, it } from 'vitest'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { fakeModel } from '../providers/ai-sdk/models.js'
import { ask, BASE_COST, WireService } from './service.js'

let service: WireService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

const USAGE = { inputTokens: { total: 11, noCache: 7, cacheRead: 4 }, outputTokens: { total: 7, text: 7 } }
const COST = BigInt(BASE_COST.slice(2).padEnd(9, '0'))

/** A model whose package warns of an option that it ignored, as packages do when the provider has answered. */
const modelThatIgnores = (feature: string) => {
  const warnings = [{ type: 'unsupported', feature }]
  const end = { finishReason: { unified: 'stop', raw: 'stop' }, usage: USAGE }
  return fakeModel({
    result: { content: [{ type: 'text', text: 'Hello' }], warnings, ...end },
    parts: [
      { type: 'stream-start', warnings },
      { type: 'text-delta', id: 't', delta: 'Hello' },
      { type: 'finish', ...end },
    ],
  })
}

const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }

describe("a parameter that a provider's AI SDK package ignored", () => {
  it.each([
    ['top_k', 'topK', { top_k: 0 }],
    ['seed', 'seed', { seed: 7 }],
    ['stop', 'stopSequences', { stop: ['END'] }],
    ['max_tokens', 'maxOutputTokens', { max_tokens: 100 }],
    ['response_format', 'responseFormat', { response_format: { type: 'json_object' } }],
    ['tools', 'tools', { tools: [TOOL] }],
  ])('leaves the reply good and charged for %s', async (field, feature, asked) => {
    for (const stream of [false, true]) {
      const fake = modelThatIgnores(feature)
      service = await WireService.start({ adapter: () => aiSdk({ model: () => fake }) })
      const before = await service.posted('alice')
      const reply = await service.post(ask({ stream, ...asked }))
      expect(reply.status).toBe(200)
      const text = await reply.text()
      expect(text).toContain('Hello')
      expect(text).toContain(`"cost":${BASE_COST}`)
      const { kinds, dropped } = await service.event('reply-mended')
      expect({ kinds, dropped }).toEqual({ kinds: ['parameter-ignored'], dropped: [field] })
      await service.event('request-end')
      expect(before - (await service.posted('alice'))).toBe(COST)
      expect(fake.calls).toHaveLength(1)
      await service.close()
    }
  })
})
