import { strict as assert } from 'node:assert'
import type { Awaitable, CatalogueStore, Model } from '../contracts/index.js'
import {
  asOpened,
  type CaseNeed,
  type ConformanceCase,
  checkAnswer,
  createContext,
  isObject,
  listenTo,
  type Opened,
} from './base/case.js'

export interface OpenedCatalogue extends Opened<CatalogueStore> {
  /** Adds a model, or replaces the one with its id. */
  put?(model: Model): Awaitable<unknown>
  remove?(id: string): Awaitable<unknown>
}

/** Opens your catalogue for the cases. */
export interface CatalogueHarness {
  /** Opens a catalogue with these models and no others. */
  open(models: readonly Model[]): Awaitable<CatalogueStore | OpenedCatalogue>
}

export type CatalogueCase = ConformanceCase<CatalogueHarness>

const models: readonly Model[] = [
  { id: 'acme/fast', created: 0, ownedBy: 'acme', prices: { input: '0.15', output: '0.60' } },
  {
    id: 'acme/deep/thought:free',
    created: 1_700_000_000,
    ownedBy: 'Acme, Inc.',
    root: 'acme/deep/thought',
    parent: 'acme/fast',
    name: 'Deep “Thought”',
    description: 'Thinks for a while.\nThen answers.',
    contextLength: 10_000_000,
    maxOutputTokens: 4_096,
    mediaTokens: 2_048,
    promptOverhead: 0,
    dimensions: 3_072,
    supportedParameters: ['tools', 'temperature'],
    operations: ['chat'],
    modalities: ['text', 'image'],
    prices: {
      input: '1.000000001',
      output: '12345678901.10',
      cachedInput: '0',
      cacheWrite: '1.25',
      reasoning: '0.000000001',
      audioInput: '6',
      audioOutput: '12.5',
      imageInput: '0',
      imageOutput: '0.000000002',
      request: '0.01',
      tiers: [{ above: 200_000, input: '2', output: '4' }],
    },
    priceVersion: '2026-11-21',
  },
  { id: 'acme/unpriced', created: 1, ownedBy: 'acme', parent: null, supportedParameters: [] },
  { id: 'solo', created: 2, ownedBy: 'solo', prices: { input: '0', output: '0' } },
  { id: '50%off/модель', created: 3, ownedBy: 'x', prices: { input: '1', output: '1' } },
]

/** The requirements for every catalogue. */
export const catalogueCases: readonly CatalogueCase[] = Object.freeze([
  catalogueCase('catalogue-get', 'a model is found by its id, with all its fields', async (bench) => {
    for (const model of models) assertModel(await bench.get(model.id), model)
  }),
  catalogueCase('catalogue-list', 'the list has every model once, with all its fields', async (bench) => {
    assertModels(await bench.list(), models)
  }),
  catalogueCase('catalogue-unknown', 'an id is unknown unless it matches exactly', async (bench) => {
    const unknown = [
      'acme/none',
      'ACME/fast',
      'acme/fast ',
      'acme/fas',
      'acme/fast/',
      'acme%2Ffast',
      'acme/%',
      'acme/_ast',
      'acme//fast',
      './solo',
      '',
    ]
    for (const id of unknown) assert.equal(await bench.get(id), undefined, JSON.stringify(id))
  }),
  catalogueCase(
    'catalogue-prototype-names',
    'ids such as __proto__ and constructor are unknown',
    async (bench) => {
      for (const id of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
        assert.equal(await bench.get(id), undefined, id)
      }
    },
  ),
  catalogueCase(
    'catalogue-empty',
    'an empty catalogue has an empty list',
    async (bench) => {
      assertModels(await bench.list(), [])
      assert.equal(await bench.get('acme/fast'), undefined)
    },
    { given: [] },
  ),
  catalogueCase('catalogue-copied', 'changes to a result do not affect the next one', async (bench) => {
    const [listed] = await bench.list()
    if (listed?.prices !== undefined) Reflect.set(listed.prices, 'input', '0')
    const found = await bench.get('acme/deep/thought:free')
    Reflect.set(found!, 'id', 'other')
    Reflect.set(found!.prices!, 'output', '0')
    Reflect.set(found!.supportedParameters!, '0', 'everything')
    for (const model of models) assertModel(await bench.get(model.id), model)
    assertModels(await bench.list(), models)
  }),
  catalogueCase(
    'catalogue-put',
    'a put takes effect at once, and replaces the whole model with its id',
    async (bench) => {
      const added: Model = {
        id: 'acme/new',
        created: 9,
        ownedBy: 'acme',
        name: 'New',
        contextLength: 1_000,
        mediaTokens: 500,
        promptOverhead: 40,
        dimensions: 768,
        prices: { input: '3', output: '4', request: '1' },
      }
      await bench.put(added)
      assertModel(await bench.get('acme/new'), added)
      assertModels(await bench.list(), [...models, added])
      const changed: Model = {
        id: 'acme/new',
        created: 9,
        ownedBy: 'acme',
        prices: { input: '5', output: '6' },
      }
      await bench.put(changed)
      assertModel(await bench.get('acme/new'), changed)
      assertModels(await bench.list(), [...models, changed])
    },
    { needs: ['change'] },
  ),
  catalogueCase(
    'catalogue-remove',
    'a removal takes effect at once',
    async (bench) => {
      await bench.remove('acme/fast')
      assert.equal(await bench.get('acme/fast'), undefined)
      assertModels(await bench.list(), models.slice(1))
    },
    { needs: ['change'] },
  ),
  catalogueCase(
    'catalogue-watch',
    'a change is reported by model id, until the watch ends',
    async (bench) => {
      assert.ok(bench.store.watch, 'this case needs a catalogue with `watch`')
      const watch = bench.store.watch.bind(bench.store)
      const [short, long] = [listenTo(watch), listenTo(watch)]
      const first = await short.next(() => bench.remove('solo'))
      assert.ok(
        first.every((id) => id === 'solo' || id === undefined),
        `the watch must report solo or everything; got ${first.join()}`,
      )
      short.end()
      const reported = short.heard.length
      await long.next(() => bench.remove('acme/unpriced'))
      long.end()
      assert.equal(short.heard.length, reported, 'an ended watch reported another change')
    },
    { needs: ['change', 'watch'] },
  ),
])

interface CatalogueBench {
  readonly store: CatalogueStore
  list(): Promise<readonly Model[]>
  get(id: string): Promise<Model | undefined>
  put(model: Model): Promise<void>
  remove(id: string): Promise<void>
}

function catalogueCase(
  id: string,
  name: string,
  check: (bench: CatalogueBench) => Promise<void>,
  { given = models, needs = [] }: { given?: readonly Model[]; needs?: readonly CaseNeed[] } = {},
): CatalogueCase {
  return {
    id,
    name,
    needs,
    async run(harness) {
      const opened = asOpened<CatalogueStore, OpenedCatalogue>(
        // A copy, so that a store that keeps it cannot change the expected values.
        await harness.open(structuredClone(given)),
        'list',
      )
      const { store } = opened
      try {
        await check({
          store,
          async list() {
            const listed = await store.list(createContext())
            checkAnswer('list', listed, Array.isArray(listed), 'an array of models')
            return listed
          },
          async get(modelId) {
            const found = await store.get(modelId, createContext())
            checkAnswer('get', found, found === undefined || isObject(found), 'a model, or undefined')
            return found
          },
          async put(model) {
            assert.ok(opened.put, 'this case needs `open` to return { store, put }')
            await opened.put(model)
          },
          async remove(modelId) {
            assert.ok(opened.remove, 'this case needs `open` to return { store, remove }')
            await opened.remove(modelId)
          },
        })
      } finally {
        await opened.close?.()
      }
    },
  }
}

/** Omits null and undefined fields, which the router treats as absent. */
function plain(model: Model | undefined): unknown {
  if (model === undefined) return undefined
  const fields = Object.entries(model).filter(([, value]) => value !== null)
  return JSON.parse(JSON.stringify(Object.fromEntries(fields), showBigints))
}

function showBigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

function assertModel(actual: Model | undefined, expected: Model): void {
  assert.deepEqual(plain(actual), plain(expected))
}

/** Ignores the order. */
function assertModels(actual: readonly Model[], expected: readonly Model[]): void {
  const byId = (one: Model, other: Model): number => (one.id < other.id ? -1 : 1)
  assert.deepEqual([...actual].sort(byId).map(plain), [...expected].sort(byId).map(plain))
}
