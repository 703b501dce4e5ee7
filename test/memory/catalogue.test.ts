import { describe, expect, it } from 'vitest'
import { type MemoryModel, memoryCatalogue } from '../../src/memory/index.js'

const fast: MemoryModel = { id: 'acme/fast', prices: { input: '0.15', output: '0.60' } }

describe('memoryCatalogue', () => {
  it('fills in the defaults of created and ownedBy', () => {
    const catalogue = memoryCatalogue([fast, { id: 'solo' }, { id: 'a/b/c', created: 7, ownedBy: 'someone' }])
    expect(catalogue.list()).toEqual([
      { ...fast, created: 0, ownedBy: 'acme' },
      { id: 'solo', created: 0, ownedBy: 'solo' },
      { id: 'a/b/c', created: 7, ownedBy: 'someone' },
    ])
  })

  it('keeps mediaTokens and promptOverhead, which may be 0', () => {
    const bounds = { mediaTokens: 500, promptOverhead: 0 }
    const catalogue = memoryCatalogue([{ ...fast, ...bounds }])
    expect(catalogue.get('acme/fast')).toMatchObject(bounds)
    catalogue.put(fast)
    expect(catalogue.get('acme/fast')).toEqual({ ...fast, created: 0, ownedBy: 'acme' })
  })

  it('keeps the tokens of each kind of media, which nobody can change later', () => {
    const mediaTokens = { image: 500, pdf: 90_000 }
    const catalogue = memoryCatalogue([{ ...fast, mediaTokens }])
    mediaTokens.pdf = 1
    const kept = catalogue.get('acme/fast')?.mediaTokens
    expect(kept).toEqual({ image: 500, pdf: 90_000 })
    expect(Object.isFrozen(kept)).toBe(true)
  })

  it('returns the same frozen objects until something changes', () => {
    const prices = { input: '0.15', output: '0.60', tiers: [{ above: 10, input: '1', output: '2' }] }
    const catalogue = memoryCatalogue([{ id: 'acme/fast', prices, supportedParameters: ['tools'] }])
    prices.input = '0'
    prices.tiers[0]!.above = 0
    const model = catalogue.get('acme/fast')
    expect(model?.prices).toEqual({
      input: '0.15',
      output: '0.60',
      tiers: [{ above: 10, input: '1', output: '2' }],
    })
    expect(catalogue.get('acme/fast')).toBe(model)
    expect(catalogue.list()).toBe(catalogue.list())
    expect(catalogue.list()[0]).toBe(model)
    const parts = [
      catalogue.list(),
      model,
      model?.prices,
      model?.prices?.tiers,
      model?.prices?.tiers?.[0],
      model?.supportedParameters,
    ]
    expect(parts.every(Object.isFrozen)).toBe(true)
  })

  it('replaces a model in its position, and reports every change by id', () => {
    const catalogue = memoryCatalogue([fast, { id: 'acme/slow' }])
    const heard: unknown[] = []
    const end = catalogue.watch((id) => heard.push(id))
    catalogue.put({ ...fast, name: 'Fast' })
    catalogue.put({ id: 'acme/new' })
    expect(catalogue.remove('acme/slow')).toBe(true)
    expect(catalogue.remove('acme/slow')).toBe(false)
    end()
    catalogue.remove('acme/new')
    expect(catalogue.list().map(({ id }) => id)).toEqual(['acme/fast'])
    expect(catalogue.get('acme/fast')?.name).toBe('Fast')
    expect(heard).toEqual(['acme/fast', 'acme/new', 'acme/slow'])
  })

  it('changes nothing if a model is refused', () => {
    const catalogue = memoryCatalogue([fast])
    expect(() => catalogue.put({ ...fast, prices: { input: 'x', output: '1' } })).toThrow(TypeError)
    expect(catalogue.get('acme/fast')?.prices).toEqual(fast.prices)
  })

  it.each<[string, unknown, string]>([
    ['no id', {}, 'models.1.id'],
    ['an empty id', { id: '' }, 'models.1.id'],
    ['an id over 256 bytes', { id: 'ü'.repeat(129) }, 'models.1.id'],
    ['an id with a control character', { id: 'a\u0000' }, 'models.1.id'],
    ['an id with a lone surrogate', { id: 'a\ud800' }, 'models.1.id'],
    [
      'an id that already exists',
      { id: 'acme/fast' },
      'models.1.id is also that of models.0: give each model its own; got "acme/fast"',
    ],
    ['a misspelt member', { id: 'a', price: { input: '1', output: '1' } }, 'price'],
    ['a price that is a number', { id: 'a', prices: { input: 0.15, output: '1' } }, 'models.1.prices.input'],
    [
      'a price below zero',
      { id: 'a', prices: { input: '-1', output: '1' } },
      'models.1.prices.input of "a" must be a decimal string',
    ],
    ['a tenth decimal place', { id: 'a', prices: { input: '1', output: '0.0000000001' } }, 'prices.output'],
    ['a price without output', { id: 'a', prices: { input: '1' } }, 'models.1.prices.output'],
    [
      'a tier above a negative number of tokens',
      { id: 'a', prices: { input: '1', output: '1', tiers: [{ above: -5, input: '1', output: '1' }] } },
      'tiers.0.above',
    ],
    ['a context of 0 tokens', { id: 'a', contextLength: 0 }, 'models.1.contextLength'],
    ['media of 0 tokens', { id: 'a', mediaTokens: 0 }, 'models.1.mediaTokens'],
    ['media of a fraction of a token', { id: 'a', mediaTokens: 0.5 }, 'models.1.mediaTokens'],
    ['media whose tokens are a string', { id: 'a', mediaTokens: '500' }, 'models.1.mediaTokens'],
    ['images of 0 tokens', { id: 'a', mediaTokens: { image: 0 } }, 'models.1.mediaTokens'],
    ['media of an unknown kind', { id: 'a', mediaTokens: { picture: 5 } }, 'models.1.mediaTokens'],
    ['a negative overhead', { id: 'a', promptOverhead: -1 }, 'models.1.promptOverhead'],
    ['an overhead of a fraction of a token', { id: 'a', promptOverhead: 0.5 }, 'models.1.promptOverhead'],
    ['no dimensions at all', { id: 'a', dimensions: 0 }, 'models.1.dimensions'],
    ['an infinite overhead', { id: 'a', promptOverhead: Infinity }, 'models.1.promptOverhead'],
    ['a creation time with a fraction of a second', { id: 'a', created: 1.5 }, 'models.1.created'],
  ])('refuses %s with a TypeError that names the field', (_, model, where) => {
    const make = () => memoryCatalogue([fast, model as MemoryModel])
    expect(make).toThrow(TypeError)
    expect(make).toThrow(where)
  })
})
