import { statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createAdmin } from 'compat-router/admin'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../examples/server/database.js'
import type { OfferedModel } from '../../examples/server/models.js'
import { offer } from '../../examples/server/offer.js'
import { readSecretKeys } from '../../examples/server/secret-keys.js'
import { SettingsError } from '../../examples/server/settings.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'

let place: TestFile
let close: () => Promise<void>
let admin: ReturnType<typeof createAdmin>

beforeEach(async () => {
  place = await createTestFile()
  const opened = await openDatabase(
    { kind: 'sqlite', file: place.file },
    () => undefined,
    () => undefined,
  )
  close = () => opened.close()
  admin = createAdmin(opened.stores)
})

afterEach(async () => {
  await close()
  place.remove()
})

const prices = { input: '1', output: '2' }
const model = (id: string): OfferedModel => ({
  id,
  upstreamModel: `up-${id}`,
  prices,
  priceVersion: 'v1',
})
const upstream = { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'sk-upstream' }
const modelIds = async () => (await admin.models.list()).map(({ id }) => id)
const routeIds = async () => (await admin.routes.list()).map(({ id }) => id)

describe("the models and routes in the example server's settings", () => {
  it('are written to the stores, with the key encrypted', async () => {
    await offer(admin, [model('b'), model('a')], upstream)
    expect(await modelIds()).toEqual(['b', 'a'])
    expect(await admin.routes.list({ model: 'a' })).toEqual([
      {
        id: 'settings:a',
        model: 'a',
        provider: 'upstream',
        adapter: 'openai',
        upstreamModel: 'up-a',
        settings: { baseUrl: upstream.baseUrl },
        secretKeyId: expect.any(String),
      },
    ])
  })

  it("replace those of former settings, but keep an operator's models, routes and changes", async () => {
    await offer(admin, [model('a'), model('b'), model('c')], upstream)
    await admin.models.put({ id: 'a', prices: { input: '7', output: '8' } })
    const { secretKeyId: _, ...offered } = (await admin.routes.list({ model: 'a' }))[0]!
    await admin.routes.put({ ...offered, weight: 3 })
    const own = {
      provider: 'mine',
      adapter: 'openai',
      upstreamModel: 'x',
      settings: { baseUrl: 'http://127.0.0.1:8/v1' },
    }
    await admin.routes.put({ ...own, id: 'mine', model: 'b' })
    await admin.models.put({ id: 'own', prices })
    await admin.routes.put({ ...own, id: 'own', model: 'own' })

    const elsewhere = { baseUrl: 'http://127.0.0.1:7/v1' }
    await offer(admin, [model('a'), model('d')], elsewhere)
    expect((await modelIds()).sort()).toEqual(['a', 'b', 'd', 'own'])
    expect((await routeIds()).sort()).toEqual(['mine', 'own', 'settings:a', 'settings:d'])
    expect((await admin.models.list())[0]!.prices).toEqual({ input: '7', output: '8' })
    const [route] = await admin.routes.list({ model: 'a' })
    expect(route).toMatchObject({ weight: 3, settings: elsewhere })
    expect(route).not.toHaveProperty('secretKeyId')
  })
})

describe("the example server's key beside the database", () => {
  const settings = () => ({ kind: 'sqlite', file: place.file }) as const

  it('is created once, readable only by its owner', () => {
    const file = join(dirname(place.file), 'secret.key')
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    expect(readSecretKeys(settings())).toEqual(readSecretKeys(settings()))
    expect(readSecretKeys(settings())).toEqual([
      { id: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), key: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ])
  })

  it('is not used if the environment has keys', () => {
    const [one, two] = ['1'.repeat(64), '2'.repeat(64)]
    expect(readSecretKeys({ ...settings(), secretKeys: `new:${two}, old:${one}` })).toEqual([
      { id: 'new', key: two },
      { id: 'old', key: one },
    ])
  })

  it('is refused if it is invalid, without showing it', () => {
    writeFileSync(join(dirname(place.file), 'secret.key'), 'old:hunter2')
    expect(() => readSecretKeys(settings())).toThrow(SettingsError)
    expect(() => readSecretKeys(settings())).toThrow(/secret\.key must contain id:key pairs/)
    expect(() => readSecretKeys(settings())).not.toThrow(/hunter2/)
  })
})
