import { describe, expect, it } from 'vitest'
import { cachedCatalogue } from '../../src/cache/index.js'
import type { Model } from '../../src/contracts/index.js'
import { createManualClock } from '../conformance/manual-clock.js'
import { catalogueOf, contextOf, createScriptedStore } from './scripted-store.js'

function model(id: string, name = 'one'): Model {
  return { id, created: 0, ownedBy: 'acme', name, prices: { input: '1', output: '2' } }
}

function open() {
  const clock = createManualClock()
  const models = createScriptedStore<Model | undefined>()
  const lists = createScriptedStore<readonly Model[]>()
  const cache = cachedCatalogue(catalogueOf(models, lists), { clock })
  const fillModel = async (id: string, found: Model | undefined) => {
    const asked = cache.get(id, contextOf())
    models.next().answer(found)
    return asked
  }
  const fillList = async (found: readonly Model[]) => {
    const asked = cache.list(contextOf())
    lists.next().answer(found)
    return asked
  }
  return { clock, models, lists, cache, fillModel, fillList }
}

describe('cachedCatalogue', () => {
  it('asks the store once for a model and once for the list', async () => {
    const { cache, models, lists, fillModel, fillList } = open()
    await fillModel('acme/a', model('acme/a'))
    await fillList([model('acme/a')])
    expect(cache.get('acme/a', contextOf())).toEqual(model('acme/a'))
    expect(cache.list(contextOf())).toEqual([model('acme/a')])
    expect([models.asked.length, lists.asked.length]).toEqual([1, 1])
  })

  it('serves a model and the list for 5 seconds and no longer', async () => {
    const { clock, models, lists, fillModel, fillList } = open()
    await fillModel('acme/a', model('acme/a'))
    await fillList([])
    clock.advance(5_001)
    expect(await fillModel('acme/a', model('acme/a', 'two'))).toEqual(model('acme/a', 'two'))
    expect(await fillList([model('acme/a')])).toHaveLength(1)
    expect([models.asked.length, lists.asked.length]).toEqual([2, 2])
  })

  it('keeps an unknown id for one second, separately from the models', async () => {
    const { clock, cache, models, fillModel } = open()
    await fillModel('acme/none', undefined)
    clock.advance(1_000)
    expect(cache.get('acme/none', contextOf())).toBeUndefined()
    clock.advance(1)
    await fillModel('acme/none', undefined)
    expect(models.asked).toHaveLength(2)
  })

  it('drops a changed model and the list, and no other model', async () => {
    const { cache, models, lists, fillModel, fillList } = open()
    await fillModel('acme/a', model('acme/a'))
    await fillModel('acme/b', model('acme/b'))
    await fillList([model('acme/a')])
    models.changed('acme/a')
    await fillModel('acme/a', model('acme/a', 'two'))
    await fillList([model('acme/a', 'two')])
    expect(cache.get('acme/b', contextOf())).toEqual(model('acme/b'))
    expect([models.asked.length, lists.asked.length]).toEqual([3, 2])
  })

  it('does not keep a look-up in progress of a model or of the list after an invalidation', async () => {
    const { cache, models, lists, fillModel, fillList } = open()
    const oldModel = cache.get('acme/a', contextOf())
    const oldList = cache.list(contextOf())
    cache.invalidate('acme/a')
    models.next().answer(model('acme/a', 'old'))
    lists.next().answer([model('acme/a', 'old')])
    await Promise.all([oldModel, oldList])
    expect(await fillModel('acme/a', model('acme/a', 'new'))).toEqual(model('acme/a', 'new'))
    expect(await fillList([model('acme/a', 'new')])).toEqual([model('acme/a', 'new')])
  })

  it('drops everything once the watch is disconnected', async () => {
    const { models, lists, fillModel, fillList } = open()
    await fillModel('acme/a', model('acme/a'))
    await fillList([])
    models.connection(false)
    models.connection(true)
    await fillModel('acme/a', model('acme/a'))
    await fillList([])
    expect([models.asked.length, lists.asked.length]).toEqual([2, 2])
  })

  it('shares one look-up of the list among concurrent callers', async () => {
    const { cache, lists } = open()
    const both = Promise.all([cache.list(contextOf()), cache.list(contextOf())])
    lists.next().answer([])
    expect(await both).toEqual([[], []])
    expect(lists.asked).toHaveLength(1)
  })

  it('never keeps an error', async () => {
    const { cache, models, lists, fillModel, fillList } = open()
    const failing = [cache.get('acme/a', contextOf()), cache.list(contextOf())]
    models.next().fail(new Error('down'))
    lists.next().fail(new Error('down'))
    for (const outcome of await Promise.allSettled(failing)) expect(outcome.status).toBe('rejected')
    expect(await fillModel('acme/a', model('acme/a'))).toEqual(model('acme/a'))
    expect(await fillList([])).toEqual([])
  })

  it('treats ids such as "constructor", which every object has, as unknown', async () => {
    const { models, fillModel } = open()
    for (const id of ['__proto__', 'constructor', 'toString']) {
      expect(await fillModel(id, undefined)).toBeUndefined()
    }
    expect(models.asked).toHaveLength(3)
  })

  it('returns frozen copies', async () => {
    const { fillModel } = open()
    const given = { ...model('acme/a'), modalities: ['text'] }
    const kept = await fillModel('acme/a', given)
    given.modalities.push('image')
    expect(kept?.modalities).toEqual(['text'])
    expect([kept, kept?.prices, kept?.modalities].every(Object.isFrozen)).toBe(true)
  })

  it('ends its watch when closed', async () => {
    const { cache, models } = open()
    cache.close()
    expect(models.watchers).toBe(0)
  })
})
