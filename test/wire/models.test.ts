import { describe, expect, test } from 'vitest'
import { cachedCatalogue, type Model, memoryCatalogue, type Principal } from '../../src/index.js'
import { createDeferred } from '../helpers/deferred.js'
import { turns } from '../helpers/stepped-clock.js'
import { API_KEY, MODEL, WireService } from './service.js'

const PATHS = ['/models', `/models/${MODEL}`]

describe.each(PATHS)('GET %s', (path) => {
  test('calls admit, which may refuse', async () => {
    const seen: Principal[] = []
    const service = await WireService.start({
      router: () => ({
        admit(principal) {
          seen.push(principal)
          return seen.length < 2 ? { ok: true } : { ok: false, retryAfterSeconds: 3 }
        },
      }),
    })
    expect((await service.get(path, API_KEY)).status).toBe(200)
    const refused = await service.get(path, API_KEY)
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '3'])
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } })
    expect(seen).toMatchObject([{ account: 'alice' }, { account: 'alice' }])
    await service.close()
  })

  test.each(['inFlightPerAccount', 'inFlightPerCredential'])('counts towards %s', async (limit) => {
    const asked = createDeferred<void>()
    const answer = createDeferred<void>()
    const service = await WireService.start({
      concurrency: { [limit]: 1 },
      router: ({ catalogue }) => ({
        catalogue: {
          async list(context) {
            asked.resolve()
            await answer.promise
            return catalogue.list(context)
          },
          async get(id, context) {
            asked.resolve()
            await answer.promise
            return catalogue.get(id, context)
          },
        },
      }),
    })
    const first = service.get(path, API_KEY)
    await asked.promise
    expect(service.router.inFlight).toBe(0)
    expect((await service.get(path, API_KEY)).status).toBe(429)
    answer.resolve()
    expect((await first).status).toBe(200)
    expect((await service.get(path, API_KEY)).status).toBe(200)
    await turns(1)
    await service.close()
  })
})

describe('the cache of the model list', () => {
  const namesIn = async (service: WireService) => {
    const { data } = (await (await service.get('/models', API_KEY)).json()) as { data: { name: string }[] }
    return data.map(({ name }) => name)
  }
  /** A model that counts how often its name is read. */
  function countingModel(name: string) {
    let reads = 0
    const model = { id: 'acme/a', created: 0, ownedBy: 'acme' } as Model
    Object.defineProperty(model, 'name', { enumerable: true, get: () => `${name}${++reads}` })
    return { model, reads: () => reads }
  }

  test('is built once while the catalogue returns the same frozen list', async () => {
    const { model, reads } = countingModel('A')
    const models = Object.freeze([Object.freeze(model)])
    const service = await WireService.start({
      router: () => ({ catalogue: { list: () => models, get: () => undefined } }),
    })
    for (let round = 0; round < 3; round++) expect(await namesIn(service)).toEqual(['A1'])
    expect(reads()).toBe(1)
    await service.close()
  })

  test('shows every change, both of stores that cache it and of stores that change it in place', async () => {
    const memory = memoryCatalogue([{ id: 'acme/a', name: 'A' }])
    const cached = cachedCatalogue(memory)
    const list = [
      { id: 'acme/a', created: 0, ownedBy: 'acme', name: 'A', prices: { input: '1', output: '1' } },
    ]
    const frozenOutside = Object.freeze(list.map((model) => Object.freeze({ ...model })))
    for (const [catalogue, change] of [
      [memory, () => memory.put({ id: 'acme/b', name: 'B' })],
      [cached, () => memory.put({ id: 'acme/c', name: 'C' })],
      [{ list: () => list, get: () => undefined }, () => void list.push({ ...list[0]!, name: 'D' })],
    ] as const) {
      const service = await WireService.start({ router: () => ({ catalogue }) })
      const before = await namesIn(service)
      change()
      expect(await namesIn(service)).toHaveLength(before.length + 1)
      await service.close()
    }
    const service = await WireService.start({
      router: () => ({ catalogue: { list: () => frozenOutside, get: () => undefined } }),
    })
    const inputs = async () =>
      (await (await service.get('/models', API_KEY)).text()).match(/"input":"(.)"/)?.[1]
    expect(await inputs()).toBe('1')
    list[0]!.prices.input = '2'
    expect(await inputs()).toBe('2')
    await service.close()
    cached.close()
  })
})
