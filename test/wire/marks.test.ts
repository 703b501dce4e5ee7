import { afterEach, describe, expect, it } from 'vitest'
import { parseCredits } from '../../src/index.js'
import { MODEL, PRICES, tokens, WireService } from './service.js'

/** Normalising this takes the square of its length: minutes. */
const MARKS = '\u0301\u0323'.repeat(300_000)
const BUDGET = {
  id: 'budget',
  unit: 'credits',
  amount: parseCredits('20'),
  per: 'month',
  zone: 'UTC',
} as const

let service: WireService
afterEach(() => service.close())

describe.each([
  ['a host with neverOverdraw', true],
  ['a key with a budget', false],
])('%s without credit refuses 1.2 MB of marks in linear time', (_, neverOverdraw) => {
  it.each<[path: string, body: object]>([
    ['/chat/completions', { messages: [{ role: 'user', content: MARKS }] }],
    [
      '/chat/completions',
      {
        messages: [{ role: 'user', content: 'Go' }],
        tools: [{ type: 'function', function: { name: 'f', description: MARKS } }],
      },
    ],
    ['/responses', { input: MARKS }],
    ['/messages', { max_tokens: 5, messages: [{ role: 'user', content: MARKS }] }],
    ['/embeddings', { input: MARKS }],
  ])('at %s', async (path, body) => {
    service = await WireService.start({
      models: [{ id: MODEL, prices: PRICES }],
      router: () => ({ neverOverdraw }),
    })
    const token = neverOverdraw ? tokens.poor : 'sk-wire-budgeted'
    service.credentials.put('sk-wire-budgeted', { kind: 'api-key', account: 'pauper', limits: [BUDGET] })
    const reply = await service.host.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, ...body }),
    })
    expect(reply.status).toBe(402)
    expect(service.asked).toEqual([])
  })
})
