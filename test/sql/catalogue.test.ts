import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { hear } from '../helpers/hear.js'
import { context } from '../helpers/ledger-requests.js'

const fast = { id: 'acme/fast', prices: { input: '0.15', output: '0.60' }, contextLength: 128_000 }

describe.each(engineNames)('models in %s', (name) => {
  const engine = useEngine(name)

  it('are listed in the order in which they were first added', async () => {
    const stores = engine.open('listed')
    const admin = createAdmin(stores)
    await admin.models.put({ id: 'z/last', parent: null })
    await admin.models.put(fast)
    await admin.models.put({ id: 'z/last', name: 'Changed', created: 5, ownedBy: 'someone' })
    expect(await stores.catalogue.list(context)).toEqual([
      { id: 'z/last', name: 'Changed', created: 5, ownedBy: 'someone' },
      { ...fast, created: 0, ownedBy: 'acme' },
    ])
    expect(await admin.models.list()).toEqual(await stores.catalogue.list(context))
    expect(await stores.catalogue.get('acme/fast', context)).toEqual({ ...fast, created: 0, ownedBy: 'acme' })
    for (const id of ['acme/FAST', 'acme/fast ', 'constructor', 'a\u0000b', '\ud800', '%']) {
      expect(await stores.catalogue.get(id, context)).toBeUndefined()
    }
    expect(await admin.models.remove('z/last')).toBe(true)
    expect(await admin.models.remove('z/last')).toBe(false)
    expect((await stores.catalogue.list(context)).map((model) => model.id)).toEqual(['acme/fast'])
  })

  it("keep the tokens of media and of a prompt's overhead, and dimensions, until a put omits them", async () => {
    const stores = engine.open('tokens')
    const admin = createAdmin(stores)
    for (const bounds of [
      { mediaTokens: 500, promptOverhead: 0 },
      { mediaTokens: { image: 500, pdf: 90_000 } },
      { promptOverhead: 40 },
      { dimensions: 3_072 },
      {},
    ]) {
      await admin.models.put({ ...fast, ...bounds })
      const stored = { ...fast, ...bounds, created: 0, ownedBy: 'acme' }
      expect(await stores.catalogue.get(fast.id, context)).toEqual(stored)
      expect(await stores.catalogue.list(context)).toEqual([stored])
      expect(await admin.models.list()).toEqual([stored])
    }
  })

  it('are refused if token counts or dimensions are not whole numbers, and stay unchanged', async () => {
    const admin = createAdmin(engine.open('refused'))
    await admin.models.put({ ...fast, mediaTokens: 7, promptOverhead: 8 })
    const before = await admin.models.list()
    for (const [field, values] of [
      ['mediaTokens', [0, -1, 1.5, '500', null, [], { image: 0 }, { picture: 5 }]],
      ['promptOverhead', [-1, 1.5, '40', null]],
      ['dimensions', [0, -1, 1.5, '768', null]],
    ] as const) {
      for (const value of values) {
        const put = admin.models.put({ ...fast, [field]: value } as never)
        await expect(put, `${field}: ${value}`).rejects.toThrow(new RegExp(`model\\.${field}(\\.image)?: `))
      }
    }
    expect(before).toMatchObject([{ mediaTokens: 7, promptOverhead: 8 }])
    expect(await admin.models.list()).toEqual(before)
  })

  it('are reported to another process if they change', async () => {
    const admin = createAdmin(engine.open('watched'))
    const there = engine.open('watched')
    const heard = await hear(there.catalogue.watch!)
    await admin.models.put(fast)
    expect(await heard.next()).toBe('acme/fast')
    expect(await there.catalogue.get('acme/fast', context)).toBeDefined()
    heard.end()
  })

  it('are refused with an invalid price', async () => {
    const admin = createAdmin(engine.open('bad'))
    await expect(
      admin.models.put({ id: 'a', prices: { input: '0.0000000001', output: '1' } }),
    ).rejects.toThrow('model.prices.input: ')
    await expect(admin.models.put({ id: '' })).rejects.toThrow('model.id')
    await expect(admin.models.put({ id: 'a', typo: 1 } as never)).rejects.toThrow('typo')
  })
})
