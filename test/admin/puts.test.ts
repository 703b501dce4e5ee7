import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'

const COUNT = 12
const secretKeys = [{ id: 'one', key: '07'.repeat(32) }]

const kinds = [
  {
    what: 'a model',
    put: (admin: Admin, text: string, options: object = {}) =>
      admin.models.put({ id: 'acme/fast', name: text }, options),
    find: async (admin: Admin) => (await admin.models.list())[0],
    remove: (admin: Admin) => admin.models.remove('acme/fast'),
  },
  {
    what: 'a route',
    put: (admin: Admin, text: string, options: object = {}) =>
      admin.routes.put(
        {
          id: 'one',
          model: 'acme/fast',
          provider: 'acme',
          adapter: 'openai',
          upstreamModel: text,
          secret: `sk-${text}`,
        },
        options,
      ),
    find: async (admin: Admin) => (await admin.routes.list())[0],
    remove: (admin: Admin) => admin.routes.remove('one'),
  },
  {
    what: 'an app',
    put: (admin: Admin, text: string, options: object = {}) =>
      admin.apps.put({ id: 'notes', name: text, markup: { basisPoints: 1 }, allowedModels: [] }, options),
    find: async (admin: Admin) => (await admin.apps.list())[0],
  },
]

describe.each(engineNames)('an admin put on %s', (name) => {
  const engine = useEngine(name)

  describe.each(kinds)('of $what', ({ what, put, find, remove }) => {
    let admins: readonly [Admin, Admin]
    beforeAll(() => {
      const open = () => createAdmin(engine.open(what.replace(' ', '_'), { secretKeys }))
      admins = [open(), open()]
    })

    it('succeeds once among many concurrent puts with the same `was`', async () => {
      let was = (await find(admins[0])) ?? null
      for (let round = 0; round < 4; round++) {
        const texts = Array.from({ length: COUNT }, (_, index) => `round ${round}, ${index}`)
        const stored = await Promise.all(texts.map((text, index) => put(admins[index % 2]!, text, { was })))
        expect(stored.filter(Boolean)).toHaveLength(1)
        const now = await find(admins[1])
        expect(JSON.stringify(now)).toContain(texts[stored.indexOf(true)])
        was = now!
      }
    })

    it('with `ifAbsent` writes once, keeps an existing value, and restores a removed one', async () => {
      const [admin] = admins
      await remove?.(admin)
      const before = await find(admin)
      const texts = Array.from({ length: COUNT }, (_, index) => `seed ${index}`)
      const stored = await Promise.all(
        texts.map((text, index) => put(admins[index % 2]!, text, { ifAbsent: true })),
      )
      if (before === undefined) {
        expect(stored.filter(Boolean)).toHaveLength(1)
        expect(JSON.stringify(await find(admin))).toContain(texts[stored.indexOf(true)])
      } else expect(stored).not.toContain(true)
      expect(await put(admin, 'edited', { ifAbsent: false })).toBe(true)
      expect(await put(admin, 'seed', { ifAbsent: true })).toBe(false)
      expect(JSON.stringify(await find(admin))).toContain('edited')
      if (remove === undefined) return
      await remove(admin)
      expect(await put(admin, 'seed', { ifAbsent: true })).toBe(true)
      await remove(admin)
    })

    it('refuses options that would replace a value that they should keep', async () => {
      const [admin] = admins
      await expect(put(admin, 'x', { ifabsent: true })).rejects.toThrow(
        /^\w+\.put: has no field "ifabsent"; its fields are was, ifAbsent$/,
      )
      await expect(put(admin, 'x', { ifAbsent: 'yes' })).rejects.toThrow(/ifAbsent: must be true or false/)
      await expect(put(admin, 'x', { ifAbsent: true, was: null })).rejects.toThrow(/either was or ifAbsent/)
      await expect(put(admin, 'x', { ifAbsent: true, was: null })).rejects.toThrow(TypeError)
    })

    it('does not replace a value that was not read, and does not restore a removed one', async () => {
      const [admin] = admins
      expect(await put(admin, 'mine')).toBe(true)
      const was = await find(admin)
      expect(await put(admin, 'new', { was: null })).toBe(false)
      expect(await put(admin, 'by another')).toBe(true)
      expect(await put(admin, 'late', { was })).toBe(false)
      expect(JSON.stringify(await find(admin))).toContain('by another')
      if (remove === undefined) return
      const last = await find(admin)
      await remove(admin)
      expect(await put(admin, 'back again', { was: last })).toBe(false)
      expect(await find(admin)).toBeUndefined()
    })
  })

  it('of only a secret counts as a change of its route', async () => {
    const admin = createAdmin(engine.open('secret', { secretKeys }))
    const route = { id: 'one', model: 'm', provider: 'acme', adapter: 'openai', upstreamModel: 'x' }
    await admin.routes.put({ ...route, secret: 'sk-first' })
    const [was] = await admin.routes.list()
    await admin.routes.put({ ...route, secret: null })
    expect(await admin.routes.put(route, { was: was! })).toBe(false)
  })
})
