import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'

describe.each(engineNames)('what administration is given on %s', (name) => {
  const engine = useEngine(name)
  let admin: Admin
  beforeAll(async () => {
    admin = createAdmin(engine.open('input'))
    await admin.openAccount('alice')
  })

  it.each([
    ['a boolean', true],
    ['an object', { $ne: '' }],
    ['an array', ['alice']],
    ['a symbol', Symbol('alice')],
  ])('is refused with a TypeError where it is %s in the place of a name', async (_, value) => {
    const account = value as unknown as string
    for (const asking of [
      () => admin.listCredentials({ account }),
      () => admin.entries({ account }),
      () => admin.openHolds({ account }),
      () => admin.listRoutes({ model: account }),
      () => admin.listModels({ modelIds: [account] }),
      () => admin.listApps({ appIds: [account] }),
    ]) {
      await expect(asking()).rejects.toThrow(TypeError)
    }
    expect(await admin.findAccount('alice')).toMatchObject({ id: 'alice' })
  })
})
