import { describe, expect, test } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import type { Model } from '../../src/index.js'
import type { CatalogueStore, ProviderRegistry } from '../../src/stores.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { ask, COUNTS, MODEL, PRICES, providerReply, WireService } from './service.js'

/** A model as a table may store it, with any column types. */
type Row = Readonly<Record<string, unknown>>

const WHOLE: Row = { id: MODEL, created: 1, ownedBy: 'acme', prices: PRICES }
const COST = 0.000174

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) deepFreeze(part)
    Object.freeze(value)
  }
  return value
}

function rowCatalogue(row: Row): CatalogueStore {
  const model = row as unknown as Model
  return { list: () => [model], get: () => model }
}

async function startWith(row: Row, expectsFaults = false): Promise<WireService> {
  const service = await WireService.start({
    expectsFaults,
    router: () => ({ catalogue: rowCatalogue({ ...WHOLE, ...row }) }),
  })
  service.upstream.script(answerJson(providerReply()))
  return service
}

describe('a model with null columns', () => {
  test.each([
    { contextLength: null },
    { maxOutputTokens: null },
    { supportedParameters: null },
    { priceVersion: null },
    { mediaTokens: null },
    { mediaTokens: { image: 500, pdf: null } },
    { promptOverhead: null },
    { dimensions: null },
    { operations: null },
    {
      ...{
        contextLength: null,
        maxOutputTokens: null,
        mediaTokens: null,
        promptOverhead: null,
        dimensions: null,
      },
      ...{ supportedParameters: null, priceVersion: null, name: null },
    },
  ])('is charged as if they were absent: %j', async (row) => {
    const service = await startWith(row)
    const response = await service.post(ask({ temperature: 1 }))
    const { usage } = (await response.json()) as { usage: Record<string, unknown> }
    expect(response.status).toBe(200)
    expect(usage).toMatchObject({ ...COUNTS, cost: COST, charge: { basis: 'reported' } })
    const { charge } = await service.event('request-end')
    expect(charge).not.toHaveProperty('priceVersion')
    expect(service.events.filter(({ type }) => type === 'usage-implausible')).toEqual([])
    await service.close()
  })

  test('has no price if its prices are null', async () => {
    const service = await startWith({ prices: null })
    const response = await service.post(ask())
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({
      error: { code: 'price_missing', message: expect.stringContaining('has no price') },
    })
    await service.close()
  })

  test('is shown without them', async () => {
    const service = await startWith({ contextLength: null, name: null })
    const shown = (await (await service.get(`/models/${MODEL}`)).json()) as object
    expect(shown).toMatchObject({ id: MODEL, parent: null })
    expect(shown).toMatchObject({ context_length: null, name: MODEL })
    expect(shown).toMatchObject({ description: '' })
    await service.close()
  })
})

describe('a list of models with rows that are wrong', () => {
  const OTHER = 'acme/other'
  const wrong: readonly [what: string, row: unknown, says: string][] = [
    ['a null', null, 'row 1 of list() is not a model with an id'],
    ['a text', MODEL, 'row 1 of list() is not a model with an id'],
    ['a row without an id', { prices: PRICES }, 'row 1 of list() is not a model with an id'],
    ['parameters that are no list', { id: OTHER, supportedParameters: 'top_p' }, 'is not a list of strings'],
    ['a bigint that JSON has not', { id: OTHER, created: 1n }, `the model '${OTHER}' cannot be listed`],
    ['tiers that are no list', { id: OTHER, prices: { ...PRICES, tiers: 5 } }, 'cannot be listed'],
    ['modalities that are no list', { id: OTHER, modalities: 'text' }, 'cannot be listed'],
  ]
  const kinds = wrong.flatMap(([what, row, says]) =>
    ['new', 'frozen'].map((kind): [string, string, unknown, string] => [kind, what, row, says]),
  )

  test.each(kinds)('is shown without them and reports them (%s list, %s)', async (kind, _what, row, says) => {
    const rows = [WHOLE, row, { ...WHOLE, id: 'acme/last' }] as Model[]
    const list = kind === 'frozen' ? deepFreeze(rows) : rows
    const service = await WireService.start({
      expectsFaults: true,
      router: () => ({ catalogue: { list: () => list, get: () => undefined } }),
    })
    for (const query of ['', '?supported_parameters=top_p', '']) {
      const response = await service.get(`/models${query}`)
      const shown = (await response.json()) as { data: { id: string }[]; total_count: number }
      expect([response.status, shown.data.map(({ id }) => id), shown.total_count]).toEqual([
        200,
        [MODEL, 'acme/last'],
        2,
      ])
    }
    const { store, error } = await service.event('store-fault')
    expect([store, error.message]).toEqual(['catalogue', expect.stringContaining(says)])
    await service.close()
  })
})

describe('an invalid model from a catalogue', () => {
  const notTokens = [NaN, Infinity, 0, -5, 100.5, 100n, '100', {}]
  const wrong: readonly [field: string, value: unknown, wanted: string][] = [
    ...['contextLength', 'maxOutputTokens', 'mediaTokens'].flatMap((field) =>
      notTokens
        .filter((value) => field !== 'mediaTokens' || typeof value !== 'object')
        .map((value): [string, unknown, string] => [field, value, 'a whole number of tokens above 0']),
    ),
    ...[{ image: 0 }, { image: '5' }, { pictures: 5 }, []].map((value): [string, unknown, string] => [
      'mediaTokens',
      value,
      'a whole number of tokens above 0, or an object with such numbers for image, audio, video, pdf, archive',
    ]),
    ...notTokens
      .filter((value) => value !== 0)
      .map((value): [string, unknown, string] => [
        'promptOverhead',
        value,
        'a whole number of tokens from 0 up',
      ]),
    ['supportedParameters', 'temperature', 'a list of strings'],
    ['supportedParameters', [5], 'a list of strings'],
    ['operations', 'chat', 'a list of strings'],
    ['operations', [5], 'a list of strings'],
    ['priceVersion', 7, 'a string'],
  ]

  test.each(wrong)(
    'causes a store-fault if its %s is %s, and nothing is sent',
    async (field, value, wanted) => {
      const service = await startWith({ [field]: value }, true)
      const response = await service.post(ask())
      expect([response.status, await response.json()]).toMatchObject([
        500,
        { error: { code: 'internal_error' } },
      ])
      const { error, store } = await service.event('store-fault')
      expect(store).toBe('catalogue')
      expect(error.message).toContain(`${field} of the model '${MODEL}' is not ${wanted}`)
      expect(service.events.filter(({ type }) => type === 'fault')).toEqual([])
      expect(service.asked).toEqual([])
      expect(await service.posted('alice')).toBe(1_000_000_000n)
      await service.close()
    },
  )

  test('causes a store-fault that names the price if a price is a number, and nothing is sent', async () => {
    const service = await startWith({ prices: { input: 10, output: '20' } }, true)
    const response = await service.post(ask())
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { code: 'price_missing' } },
    ])
    expect(await service.event('store-fault')).toMatchObject({
      store: 'catalogue',
      error: { message: expect.stringContaining(`prices of model '${MODEL}'.input must be a decimal`) },
    })
    expect(service.asked).toEqual([])
    await service.close()
  })
})

describe('a route with null columns', () => {
  test('is called and charged as if they were absent', async () => {
    const asked: unknown[] = []
    const adapter: ProviderAdapter = {
      async chat({ auth }, take) {
        asked.push(auth)
        await take([{ type: 'completion', completion: providerReply() as never }])
        await take([{ type: 'usage', usage: { prompt: 11, cached: 4, completion: 7 } }])
        return { terminated: true }
      },
    }
    const row = {
      ...{ id: 'r', provider: 'p', adapter, upstreamModel: 'u', enabled: null, byok: null, secret: null },
      ...{ prices: null, supportedParameters: null, onDisconnect: null, weight: null },
    }
    const providers = { routes: () => [row] } as unknown as ProviderRegistry
    const service = await WireService.start({ router: () => ({ providers }) })
    const response = await service.post(ask({ temperature: 1 }))
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ usage: { cost: COST, charge: { basis: 'reported' } } })
    expect(asked).toEqual([{ kind: 'host' }])
    await service.close()
  })
})
