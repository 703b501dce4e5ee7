import { describe, expect, it } from 'vitest'
import { createSecret } from '../../src/base/secret.js'
import type { CallContext, Model, ProviderAdapter } from '../../src/contracts/index.js'
import { type MemoryProvider, memoryProviders } from '../../src/memory/index.js'

const context: CallContext = { requestId: 'r', signal: new AbortController().signal }
const adapter: ProviderAdapter = { chat: async () => ({ terminated: true }) }
const fast: Model = { id: 'acme/fast', created: 0, ownedBy: 'acme' }

describe('memoryProviders', () => {
  it('makes a route of every model that a provider serves', () => {
    const registry = memoryProviders([{ id: 'openai', models: { 'acme/fast': 'gpt-4o-mini' }, adapter }])
    expect(registry.routes(fast, context)).toEqual([
      { id: 'openai:acme/fast', provider: 'openai', upstreamModel: 'gpt-4o-mini', adapter },
    ])
  })

  it('returns the same frozen list at every call, and one empty list for other models', () => {
    const registry = memoryProviders([{ id: 'openai', models: { 'acme/fast': 'x' }, adapter }])
    const routes = registry.routes(fast, context) as readonly object[]
    expect(registry.routes(fast, context)).toBe(routes)
    expect([routes, ...routes].every(Object.isFrozen)).toBe(true)
    const none = registry.routes({ ...fast, id: 'constructor' }, context)
    expect(none).toEqual([])
    expect(none).toBe(registry.routes({ ...fast, id: 'acme/none' }, context))
  })

  it('neither copies nor freezes adapters and secrets, and does not close adapters', () => {
    const secret = createSecret('key')
    let closed = 0
    const closing = { ...adapter, close: () => void closed++ }
    const registry = memoryProviders([
      { id: 'openai', models: { 'acme/fast': 'x' }, adapter: closing, secret },
    ])
    const [route] = registry.routes(fast, context) as readonly { adapter: unknown; secret: unknown }[]
    expect(route?.adapter).toBe(closing)
    expect(route?.secret).toBe(secret)
    expect(Object.isFrozen(closing)).toBe(false)
    expect(registry.close).toBeUndefined()
    expect(closed).toBe(0)
  })

  it('gives routes with the same provider and model different ids', () => {
    const registry = memoryProviders([
      { id: 'a', models: { 'b:c': 'one' }, adapter },
      { id: 'a:b', models: { c: 'two' }, adapter },
      { id: 'a', models: { 'b:c': 'three' }, adapter, weight: 2 },
    ])
    const idsOf = (id: string) =>
      (registry.routes({ ...fast, id }, context) as readonly { id: string }[]).map((route) => route.id)
    expect(idsOf('b:c')).toEqual(['a:b:c', 'a:b:c#3'])
    expect(idsOf('c')).toEqual(['a:b:c#2'])
  })

  it.each<[string, unknown, string]>([
    ['no id', { models: {}, adapter }, 'providers.0.id'],
    ['no models', { id: 'a', adapter }, 'providers.0.models'],
    ['an empty upstream name', { id: 'a', models: { m: '' }, adapter }, 'providers.0.models.m'],
    ['no adapter', { id: 'a', models: {} }, 'providers.0.adapter of "a" must be an adapter with a method'],
    ['an adapter without a method', { id: 'a', models: {}, adapter: {} }, 'providers.0.adapter'],
    ['a secret that is a string', { id: 'a', models: {}, adapter, secret: 'sk' }, 'providers.0.secret'],
    ['a weight below zero', { id: 'a', models: {}, adapter, weight: -1 }, 'providers.0.weight'],
    [
      'a price that cannot be read',
      { id: 'a', models: {}, adapter, prices: { input: '', output: '1' } },
      'providers.0.prices',
    ],
    ['a misspelt member', { id: 'a', models: {}, adapter, wieght: 1 }, 'wieght'],
  ])('refuses %s with a TypeError that names the field', (_, provider, where) => {
    const make = () => memoryProviders([provider as MemoryProvider])
    expect(make).toThrow(TypeError)
    expect(make).toThrow(where)
  })
})
