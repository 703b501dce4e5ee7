import { calcPrice, findProvider, waitForUpdate } from '@pydantic/genai-prices'
import { describe, expect, it } from 'vitest'
import { parsePrices, priceRow } from '../../src/base/prices.js'
import type { Price } from '../../src/contracts/index.js'
import { catalogueFromGenaiPrices, type GenaiProvider } from '../../src/price-lists/index.js'

const TODAY = Date.UTC(2026, 10, 21)

function listOf(...models: unknown[]): GenaiProvider {
  return { id: 'acme', models } as GenaiProvider
}

/** Reads a list of one model with these prices. */
function read(prices: unknown, at = TODAY) {
  const { models, problems } = catalogueFromGenaiPrices(listOf({ id: 'fast', prices }), { at })
  return { prices: models[0]?.prices, problems }
}

/** Returns the reason why a model with these prices is left out. */
function reasonOf(prices: unknown, at = TODAY): string | undefined {
  const { models, problems } = catalogueFromGenaiPrices(listOf({ id: 'fast', prices }), { at })
  expect(models).toEqual([])
  expect(problems).toEqual([{ id: 'acme/fast', why: expect.any(String), omitted: true }])
  return problems[0]?.why
}

describe('an option of the price list', () => {
  it.each([
    [{ at: Number.NaN }, 'at must'],
    [{ at: null }, 'at must'],
    [{ at: '2026-11-21' }, 'at must'],
    [{ at: TODAY / 1_000 }, 'multiply seconds by 1,000'],
    [{ filter: 'gpt' }, 'filter must be a function'],
    [{ id: null }, 'id must be a function'],
    [{ filtr: () => false }, 'filtr is not an option'],
    [null, 'catalogueFromGenaiPrices'],
  ])('is refused if invalid: %j', (options, words) => {
    const prices = { input_mtok: 1, output_mtok: 2 }
    const attempt = () => catalogueFromGenaiPrices(listOf({ id: 'fast', prices }), options as never)
    expect(attempt).toThrow(TypeError)
    expect(attempt).toThrow(words)
    expect(attempt).toThrow('catalogueFromGenaiPrices')
  })
})

describe('a model of the price list', () => {
  it('has the member names of a catalogue, and every unit that has a price in one', () => {
    const model = {
      id: 'fast',
      name: 'Acme Fast ',
      description: ' Quick.\n',
      match: { equals: 'fast' },
      context_window: 128_000,
      prices: {
        input_mtok: 0.15,
        output_mtok: 0.6,
        cache_read_mtok: 0.0375,
        cache_write_mtok: 0.1875,
        output_reasoning_mtok: 1,
        input_audio_mtok: 2.5,
        output_audio_mtok: 20,
        input_image_mtok: 0.2,
        output_image_mtok: 30,
        requests_kcount: 5,
      },
    }
    expect(catalogueFromGenaiPrices(listOf(model))).toEqual({
      models: [
        {
          id: 'acme/fast',
          created: 0,
          ownedBy: 'acme',
          name: 'Acme Fast',
          description: 'Quick.',
          contextLength: 128_000,
          prices: {
            input: '0.15',
            output: '0.6',
            cachedInput: '0.0375',
            cacheWrite: '0.1875',
            reasoning: '1',
            audioInput: '2.5',
            audioOutput: '20',
            imageInput: '0.2',
            imageOutput: '30',
            request: '0.005',
          },
        },
      ],
      problems: [],
    })
  })

  it('has no member that the list lacks', () => {
    const { models } = catalogueFromGenaiPrices(
      listOf({ id: 'fast', prices: { input_mtok: 0, output_mtok: 0 } }),
    )
    expect(models).toEqual([
      { id: 'acme/fast', created: 0, ownedBy: 'acme', prices: { input: '0', output: '0' } },
    ])
  })

  it('has a tier for every number of tokens at which any price changes', () => {
    const { prices } = read({
      input_mtok: {
        base: 1,
        tiers: [
          { start: 200_000, price: 2 },
          { start: 500_000, price: 4 },
        ],
      },
      output_mtok: { base: 10, tiers: [{ start: 100_000, price: 15 }] },
      cache_read_mtok: 0.1,
    })
    expect(prices).toEqual({
      input: '1',
      output: '10',
      cachedInput: '0.1',
      tiers: [
        { above: 100_000, input: '1', output: '15', cachedInput: '0.1' },
        { above: 200_000, input: '2', output: '15', cachedInput: '0.1' },
        { above: 500_000, input: '4', output: '15', cachedInput: '0.1' },
      ],
    })
  })

  it('has the prices of the requested day', () => {
    const dated = [
      { prices: { input_mtok: 10, output_mtok: 40 } },
      {
        constraint: { type: 'start_date', start_date: '2026-07-30' },
        prices: { input_mtok: 2, output_mtok: 8 },
      },
      { constraint: { start_date: '2027-01-01' }, prices: { input_mtok: 1, output_mtok: 4 } },
    ]
    const inputOn = (at: number) => read(dated, at).prices?.input
    expect(inputOn(Date.UTC(2026, 6, 30) - 1)).toBe('10')
    expect(inputOn(Date.UTC(2026, 6, 30))).toBe('2')
    expect(inputOn(Date.UTC(2026, 11, 31))).toBe('2')
    expect(inputOn(Date.UTC(2027, 0, 1))).toBe('1')
  })

  it('is read without units that have no price in a catalogue, and these are reported', () => {
    const { prices, problems } = read({
      input_mtok: 1,
      output_mtok: 2,
      cache_audio_read_mtok: 3,
      web_searches_kcount: 10,
    })
    expect(prices).toEqual({ input: '1', output: '2' })
    expect(problems).toEqual([
      { id: 'acme/fast', why: 'read without cache_audio_read_mtok, web_searches_kcount', omitted: false },
    ])
  })

  it('is read without an invalid context length, which is reported', () => {
    const prices = { input_mtok: 1, output_mtok: 2 }
    for (const context_window of [-1, 0, 1.5, '128k', null]) {
      const { models, problems } = catalogueFromGenaiPrices(listOf({ id: 'fast', context_window, prices }))
      expect(models[0]).not.toHaveProperty('contextLength')
      expect(problems).toEqual([{ id: 'acme/fast', why: 'read without context_window', omitted: false }])
    }
  })
})

describe('a price in the price list', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [1e-9, '0.000000001'],
    [1.5e-7, '0.00000015'],
    [0.1, '0.1'],
    [0.07, '0.07'],
    [1.1, '1.1'],
    [2.675, '2.675'],
    [0.003625, '0.003625'],
    [123456.789012345, '123456.789012345'],
    [1_000_000_000, '1000000000'],
  ])('is the decimal as written: %d', (value, text) => {
    expect(read({ input_mtok: value, output_mtok: value }).prices).toEqual({ input: text, output: text })
  })

  it.each([
    [0.1 + 0.2, /^its input_mtok has more than nine decimal places: 0\.30000000000000004$/],
    [0.08333333333333334, /more than nine decimal places/],
    [1e-10, /^its input_mtok has more than nine decimal places: 1e-10$/],
    [
      123456789.12345679,
      /^its input_mtok has more digits than a number can hold exactly: 123456789\.12345679$/,
    ],
    [-1, /^its input_mtok is not a price: -1$/],
    [Number.NaN, /^its input_mtok is not a price: NaN$/],
    [Number.POSITIVE_INFINITY, /is not a price: Infinity$/],
    [1e21, /is not a price: 1e\+21$/],
    ['0.15', /^its input_mtok is not a price$/],
    [null, /^its input_mtok is not a price$/],
    [[0.15], /^its input_mtok is not a price$/],
    [{ base: '1', tiers: [] }, /^its input_mtok is not a price: string$/],
    [{ base: 1 }, /^its input_mtok is not a price$/],
    [{ base: 1, tiers: [null] }, /^a tier of its input_mtok is not a price$/],
    [{ base: 1, tiers: [{ start: 1000, price: 0.1 + 0.2 }] }, /more than nine decimal places/],
    [{ base: 1, tiers: [{ start: -1, price: 2 }] }, /ascending numbers of tokens$/],
    [{ base: 1, tiers: [{ start: 1.5, price: 2 }] }, /ascending numbers of tokens$/],
    [{ base: 1, tiers: [{ start: '1000', price: 2 }] }, /ascending numbers of tokens$/],
    [
      {
        base: 1,
        tiers: [
          { start: 2000, price: 2 },
          { start: 1000, price: 3 },
        ],
      },
      /ascending numbers of tokens$/,
    ],
  ])('excludes its model if it is not an exact decimal, and the reason is reported: %j', (value, message) => {
    expect(reasonOf({ input_mtok: value, output_mtok: 1 })).toMatch(message)
  })

  it.each([
    ['no input', { output_mtok: 1 }, 'it has no input_mtok'],
    ['no output', { input_mtok: 1 }, 'it has no output_mtok'],
    ['an undefined output', { input_mtok: 1, output_mtok: undefined }, 'it has no output_mtok'],
    ['no price, which does not mean free', {}, 'it has no input_mtok'],
    ['null', null, 'it has no prices'],
    ['text', 'free', 'it has no prices'],
    ['an empty list', [], 'none of its prices is in force yet'],
    ['a list of other values', [1], 'its prices are not a list of prices'],
    ['an entry without prices', [{}], 'it has no prices'],
    ['a condition that is text', [{ constraint: 'x', prices: {} }], 'its price has an unknown condition'],
    ['an unknown condition', [{ constraint: {}, prices: {} }], 'its price depends on the hour'],
    ['no date', [{ constraint: { start_date: 'soon' }, prices: {} }], 'its price starts on an invalid date'],
    [
      'later prices',
      [{ constraint: { start_date: '2999-01-01' }, prices: {} }],
      'none of its prices is in force yet',
    ],
    [
      'prices by the hour',
      [
        { prices: { input_mtok: 1, output_mtok: 2 } },
        {
          constraint: { type: 'time_of_date', start_time: '01:00:00Z', end_time: '04:00:00Z' },
          prices: { input_mtok: 2, output_mtok: 4 },
        },
      ],
      'its price depends on the hour',
    ],
  ])('excludes its model if it cannot be charged: %s', (_what, prices, message) => {
    expect(reasonOf(prices)).toBe(message)
  })

  it('may depend on the hour if a later one applies at all hours', () => {
    const prices = [
      {
        constraint: { start_time: '01:00:00Z', end_time: '04:00:00Z' },
        prices: { input_mtok: 2, output_mtok: 4 },
      },
      { constraint: { start_date: '2026-08-17' }, prices: { input_mtok: 1, output_mtok: 2 } },
    ]
    expect(read(prices).prices).toEqual({ input: '1', output: '2' })
  })

  it('per call excludes its model if it is less than 10^-9', () => {
    expect(reasonOf({ input_mtok: 1, output_mtok: 1, requests_kcount: 0.0000001 })).toMatch(
      /^its requests_kcount has more/,
    )
  })
})

describe('a price list', () => {
  const prices = { input_mtok: 1, output_mtok: 2 }

  it('is read in order, with a filter and other ids', () => {
    const list = [
      {
        id: 'one',
        models: [
          { id: 'a', prices },
          { id: 'b', prices, deprecated: true },
        ],
      },
      { id: 'two', models: [{ id: 'a', prices }] },
    ]
    const entries: unknown[] = []
    const { models, problems } = catalogueFromGenaiPrices(list, {
      filter: (entry) => {
        entries.push(entry)
        return !entry.deprecated
      },
      id: ({ provider, model }) => `x/${provider}-${model}`,
    })
    expect(models.map(({ id, ownedBy }) => [id, ownedBy])).toEqual([
      ['x/one-a', 'one'],
      ['x/two-a', 'two'],
    ])
    expect(problems).toEqual([])
    expect(entries).toEqual([
      { provider: 'one', model: 'a', deprecated: false },
      { provider: 'one', model: 'b', deprecated: true },
      { provider: 'two', model: 'a', deprecated: false },
    ])
  })

  it('contains each id once', () => {
    const list = listOf({ id: 'a', prices }, { id: 'a', prices: { input_mtok: 9, output_mtok: 9 } })
    const { models, problems } = catalogueFromGenaiPrices(list)
    expect(models.map((model) => model.prices)).toEqual([{ input: '1', output: '2' }])
    expect(problems).toEqual([
      { id: 'acme/a', why: 'its id is a duplicate; the first one was used', omitted: true },
    ])
  })

  it('contains no id that a request could not have', () => {
    const bad = ['', 'a\nb', 'a\u007f', 'é'.repeat(129)]
    const list = listOf(...bad.map((id) => ({ id, prices })))
    const { models, problems } = catalogueFromGenaiPrices(list, { id: ({ model }) => model })
    expect(models).toEqual([])
    expect(problems.map(({ why }) => why)).toEqual(
      bad.map(() => 'its id is empty, over 256 bytes or has control characters'),
    )
  })

  it('reports its entries without an id', () => {
    const { models, problems } = catalogueFromGenaiPrices(listOf(null, 'x', { prices }, { id: 'a', prices }))
    expect(models).toHaveLength(1)
    expect(problems).toEqual(
      [0, 1, 2].map((at) => ({ id: 'acme', why: `models.${at} of the list has no id`, omitted: true })),
    )
  })

  it('is refused if it is not a price list, and the error explains the right value', () => {
    for (const list of [
      undefined,
      null,
      'openai',
      {},
      { id: 'a' },
      [null],
      [{ id: 'a', models: {} }],
      [{ models: [] }],
    ]) {
      expect(() => catalogueFromGenaiPrices(list as GenaiProvider)).toThrow(/list must be a provider/)
      expect(() => catalogueFromGenaiPrices(list as GenaiProvider)).toThrow(TypeError)
    }
  })
})

describe('the price list of @pydantic/genai-prices', () => {
  it('becomes a catalogue in one line, with readable prices only', async () => {
    const { models, problems } = catalogueFromGenaiPrices(await waitForUpdate(), { at: TODAY })
    expect(models.length).toBeGreaterThan(1000)
    for (const model of models) expect(() => parsePrices(model.prices!)).not.toThrow()
    const all = (await waitForUpdate())!.flatMap((provider) => provider.models)
    expect(models.length + problems.filter(({ omitted }) => omitted).length).toBe(all.length)
    expect(new Set(models.map(({ id }) => id)).size).toBe(models.length)
    const listed = new Set(models.map(({ id }) => id))
    for (const { id, omitted } of problems) expect(listed.has(id)).toBe(!omitted)
  })

  it('may be limited to one provider', () => {
    const { models } = catalogueFromGenaiPrices(findProvider({ providerId: 'anthropic' }), { at: TODAY })
    expect(models).not.toEqual([])
    expect(models.every(({ id, ownedBy }) => id.startsWith('anthropic/') && ownedBy === 'anthropic')).toBe(
      true,
    )
    expect(models.find(({ id }) => id === 'anthropic/claude-sonnet-4-6')?.prices).toEqual({
      input: '3',
      output: '15',
      cachedInput: '0.3',
      cacheWrite: '3.75',
    })
  })

  it('has the prices that the package itself calculates, in every tier', async () => {
    const timestamp = new Date(TODAY)
    const usage = { output_tokens: 1_000, cache_read_tokens: 3_000, cache_write_tokens: 2_000 }
    let compared = 0
    for (const provider of (await waitForUpdate())!) {
      const { models } = catalogueFromGenaiPrices(provider, { at: TODAY, id: ({ model }) => model })
      for (const { id, prices } of models) {
        if (prices?.request !== undefined) continue
        for (const tokens of [10_000, 128_000, 200_000, 200_001, 271_999, 272_000, 1_000_000]) {
          const theirs = calcPrice({ ...usage, input_tokens: tokens }, id, {
            providerId: provider.id,
            timestamp,
          })
          if (theirs?.model.id !== id) continue
          const row = priceRow(parsePrices(prices as Price), tokens)
          const ours =
            BigInt(tokens - 5_000) * row.input +
            3_000n * row.cachedInput +
            2_000n * row.cacheWrite +
            1_000n * row.output
          expect(Number(ours) / 1e15).toBeCloseTo(theirs.total_price, 9)
          compared++
        }
      }
    }
    expect(compared).toBeGreaterThan(5_000)
  })
})
