import { strict as assert } from 'node:assert'
import { createSecret } from '../base/secret.js'
import type { Awaitable, ChatAdapter, Model, ProviderRegistry, Route } from '../contracts/index.js'
import {
  asOpened,
  type ConformanceCase,
  checkAnswer,
  createContext,
  isObject,
  type Opened,
} from './base/case.js'

/** One provider and the models that it serves. */
export interface RegistryProvider extends Omit<Route, 'id' | 'provider' | 'adapter' | 'upstreamModel'> {
  readonly id: string
  /** The provider's own name of each model, by model id. */
  readonly models: Readonly<Record<string, string>>
  readonly adapter: ChatAdapter
}

/** Opens your registry for the cases. */
export interface RegistryHarness {
  /** Opens a registry with only these providers, in this order of preference. Routes must have the same `adapter` object. */
  open(providers: readonly RegistryProvider[]): Awaitable<ProviderRegistry | Opened<ProviderRegistry>>
}

export type RegistryCase = ConformanceCase<RegistryHarness>

const adapter: ChatAdapter = Object.freeze({ chat: async () => ({ terminated: true }) })

const providers: readonly RegistryProvider[] = [
  {
    id: 'openai',
    models: { 'acme/fast': 'gpt-4o-mini', 'acme/deep/thought:free': 'o1' },
    adapter,
    byok: 'no',
    onDisconnect: 'abort',
    promptEscapes: 'html',
    weight: 0,
    prices: { input: '1', output: '2' },
    supportedParameters: ['tools'],
    secret: createSecret('host-key'),
  },
  { id: 'other', models: { 'acme/fast': 'acme-fast-1' }, adapter, weight: 3 },
  { id: 'off', models: { 'acme/fast': 'never', 'acme/off': 'never' }, adapter, enabled: false },
]

/** The requirements for every registry of providers. */
export const registryCases: readonly RegistryCase[] = Object.freeze([
  registryCase('registry-routes', 'a model has its routes in the host’s order', async (routes) => {
    const found = enabledOf(await routes('acme/fast'))
    assert.deepEqual(
      found.map(({ provider }) => provider),
      ['openai', 'other'],
    )
    assert.deepEqual(
      found.map(({ upstreamModel }) => upstreamModel),
      ['gpt-4o-mini', 'acme-fast-1'],
    )
    for (const route of found)
      assert.equal(route.adapter, adapter, 'the adapter must be the one that was given')
  }),
  registryCase('registry-settings', 'a route has all its settings', async (routes) => {
    const [first, second] = enabledOf(await routes('acme/fast'))
    const { byok, onDisconnect, promptEscapes, weight, prices, supportedParameters } = first!
    assert.deepEqual([byok, onDisconnect, promptEscapes, weight], ['no', 'abort', 'html', 0])
    assert.deepEqual({ ...prices }, { input: '1', output: '2' })
    assert.deepEqual([...(supportedParameters ?? [])], ['tools'])
    assert.equal(typeof first!.secret?.reveal, 'function', 'secret must be a result of createSecret')
    assert.equal(first!.secret?.reveal(), 'host-key')
    assert.equal(second!.weight, 3)
    // A null, as in the row of a table, counts as absent.
    assert.equal(second!.secret ?? undefined, undefined)
    assert.equal(second!.prices ?? undefined, undefined)
    assert.equal(second!.byok ?? 'no', 'no')
  }),
  registryCase('registry-disabled', 'a disabled route is omitted or marked as disabled', async (routes) => {
    for (const route of await routes('acme/off')) assert.equal(route.enabled, false)
  }),
  registryCase('registry-unknown', 'a model without a provider has no routes', async (routes) => {
    for (const id of ['acme/none', 'ACME/fast', 'acme/fast ', 'gpt-4o-mini', '', '%']) {
      assert.equal((await routes(id)).length, 0, JSON.stringify(id))
    }
  }),
  registryCase(
    'registry-prototype-names',
    'models with ids such as __proto__ and constructor have no routes',
    async (routes) => {
      for (const id of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
        assert.equal((await routes(id)).length, 0, id)
      }
    },
  ),
  registryCase('registry-ids', 'route ids are unique and stable', async (routes) => {
    const idsOf = async (): Promise<string[]> => {
      const found = [...(await routes('acme/fast')), ...(await routes('acme/deep/thought:free'))]
      return found.map(({ id }) => id)
    }
    const ids = await idsOf()
    assert.equal(new Set(ids).size, ids.length)
    assert.deepEqual(await idsOf(), ids)
  }),
  registryCase('registry-copied', 'changes to a result do not affect the next one', async (routes) => {
    const first = await routes('acme/fast')
    Reflect.set(first, 'length', 0)
    Reflect.set((await routes('acme/fast'))[0] ?? {}, 'upstreamModel', 'other')
    const found = enabledOf(await routes('acme/fast'))
    assert.deepEqual(
      found.map(({ upstreamModel }) => upstreamModel),
      ['gpt-4o-mini', 'acme-fast-1'],
    )
  }),
])

function registryCase(
  id: string,
  name: string,
  check: (routes: (modelId: string) => Promise<readonly Route[]>) => Promise<void>,
): RegistryCase {
  return {
    id,
    name,
    needs: [],
    async run(harness) {
      const opened = asOpened<ProviderRegistry, Opened<ProviderRegistry>>(
        await harness.open(providers.map((provider) => ({ ...provider }))),
        'routes',
      )
      try {
        await check(async (modelId) => {
          const model: Model = { id: modelId, created: 0, ownedBy: 'acme' }
          const found = await opened.store.routes(model, createContext())
          const isList = Array.isArray(found) && found.every(isObject)
          checkAnswer('routes', found, isList, 'an array of routes, empty if there are none')
          return found
        })
      } finally {
        await opened.close?.()
      }
    },
  }
}

function enabledOf(routes: readonly Route[]): readonly Route[] {
  return routes.filter(({ enabled }) => enabled !== false)
}
