import { expect, test } from 'vitest'
import { memoryCatalogue } from '../../src/index.js'
import { ask, MODEL, PRICES, WireService } from './service.js'

const MODELS = [
  { id: 'acme/one', prices: PRICES },
  { id: 'acme%2Fone', prices: PRICES },
  { id: '/srv/one', prices: PRICES },
  { id: 'acme//two', prices: PRICES },
]

/** Requests a model and returns the keys that the catalogue was asked for. */
async function retrieve(path: string) {
  const asked: string[] = []
  const service = await WireService.start({
    router: () => {
      const catalogue = memoryCatalogue(MODELS)
      const get = (id: string) => {
        asked.push(id)
        return catalogue.get(id)
      }
      return { catalogue: { list: catalogue.list, get } }
    },
  })
  const response = await service.get(`/models/${path}`)
  const { error, id } = (await response.json()) as { id?: string; error?: { message: string } }
  await service.close()
  return { asked, id, message: error?.message, status: response.status }
}

test.each([
  ['acme/one', ['acme/one'], 'acme/one'],
  ['acme%2Fone', ['acme%2Fone'], 'acme%2Fone'],
  ['acme%252Fone', ['acme%252Fone', 'acme%2Fone'], 'acme%2Fone'],
  ['acme%2fone', ['acme%2fone', 'acme/one'], 'acme/one'],
])('GET /models/%s looks for the key as written, then decoded once', async (path, asked, id) => {
  expect(await retrieve(path)).toEqual({ asked, id, status: 200 })
})

test.each([
  ['/srv/one', ['/srv/one'], '/srv/one'],
  ['%2Fsrv%2Fone', ['%2Fsrv%2Fone', '/srv/one'], '/srv/one'],
  ['acme//two', ['acme//two'], 'acme//two'],
  ['//acme/one', ['//acme/one', 'acme/one'], 'acme/one'],
  ['/acme%2fone', ['/acme%2fone', '/acme/one', 'acme%2fone', 'acme/one'], 'acme/one'],
])(
  'GET /models/%s finds a key with slashes of its own, then one without those at its start',
  async (path, asked, id) => {
    expect(await retrieve(path)).toEqual({ asked, id, status: 200 })
  },
)

test.each([
  ['of more than 256 bytes', `${'%C3%A9'.repeat(128)}x`, 'é'.repeat(128)],
  ['with a control character', 'acme/%07one', "'acme/one'"],
])('a model %s is 404, and the catalogue is not asked for it', async (_what, path, named) => {
  const { asked, message, status } = await retrieve(path)
  expect(status).toBe(404)
  expect(message).toContain(named)
  expect(asked.filter((id) => id !== path)).toEqual([])
})

test('a model that a catalogue returns for another key, as a case-insensitive table would, does not exist', async () => {
  const service = await WireService.start({
    router: ({ catalogue }) => ({
      catalogue: { ...catalogue, get: (id, context) => catalogue.get(id.toLowerCase(), context) },
    }),
  })
  const other = MODEL.toUpperCase()
  for (const response of [await service.get(`/models/${other}`), await service.post(ask({ model: other }))]) {
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_found', param: 'model', message: expect.stringContaining(other) } },
    ])
  }
  expect((await service.get(`/models/${MODEL}`)).status).toBe(200)
  expect(service.asked).toEqual([])
  await service.close()
})
