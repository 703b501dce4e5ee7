import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { hear } from '../helpers/hear.js'
import { context } from '../helpers/ledger-requests.js'

const fast = { id: 'acme/fast', prices: { input: '0.15', output: '0.60' }, contextLength: 128_000 }

describe.each(engineNames)('models in %s', (name) => {
  const engine = useEngine(name)

  it('lists models in the order in which they were first put', async () => {
    const stores = engine.open('listed')
    const admin = createAdmin(stores)
    await admin.putModel({ id: 'z/last', parent: null })
    await admin.putModel(fast)
    await admin.putModel({ id: 'z/last', name: 'Changed', created: 5, ownedBy: 'someone' })
    expect(await stores.catalogue.list(context)).toEqual([
      { id: 'z/last', name: 'Changed', created: 5, ownedBy: 'someone' },
      { ...fast, created: 0, ownedBy: 'acme' },
    ])
    expect(await admin.listModels()).toEqual(await stores.catalogue.list(context))
    expect(await stores.catalogue.get('acme/fast', context)).toEqual({ ...fast, created: 0, ownedBy: 'acme' })
    for (const id of ['acme/FAST', 'acme/fast ', 'constructor', 'a\u0000b', '\ud800', '%']) {
      expect(await stores.catalogue.get(id, context)).toBeUndefined()
    }
    expect(await admin.removeModel('z/last')).toBe(true)
    expect(await admin.removeModel('z/last')).toBe(false)
    expect((await stores.catalogue.list(context)).map((model) => model.id)).toEqual(['acme/fast'])
  })

  it('tells another process which model changed', async () => {
    const admin = createAdmin(engine.open('watched'))
    const there = engine.open('watched')
    const heard = await hear(there.catalogue.watch!)
    await admin.putModel(fast)
    expect(await heard.next()).toBe('acme/fast')
    expect(await there.catalogue.get('acme/fast', context)).toBeDefined()
    heard.end()
  })

  it('refuses a model with a price that is none', async () => {
    const admin = createAdmin(engine.open('bad'))
    await expect(admin.putModel({ id: 'a', prices: { input: '0.0000000001', output: '1' } })).rejects.toThrow(
      'model.prices.input: ',
    )
    await expect(admin.putModel({ id: '' })).rejects.toThrow('model.id')
    await expect(admin.putModel({ id: 'a', typo: 1 } as never)).rejects.toThrow('typo')
  })
})
