import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReplyOf } from '../../src/console/protocol.js'
import { alice, type Bench, furnish, operator, startBench } from './console-bench.js'

let bench: Bench

beforeAll(async () => {
  bench = await startBench()
  await furnish(bench)
})

afterAll(() => bench.close())

const statuses = (answers: readonly { readonly status: number }[]) =>
  answers.map(({ status }) => status).sort()

describe('if two console operators act at the same moment,', () => {
  const fields = { provider: 'fake', adapter: 'fake', upstreamModel: 'x' }
  const bodies: Readonly<Record<string, object>> = {
    'models/put': { name: 'Mine' },
    'routes/put': { model: 'acme/fast', ...fields },
    'apps/put': { markup: { basisPoints: 1 }, allowedModels: [] },
  }

  it.each(Object.entries(bodies))('one adds with %s, and the other gets an error', async (path, body) => {
    const put = (id: string, more: object = {}) =>
      bench.as(operator).post<{ error: object }>(`api/${path}`, { id, ...body, ...more })
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => put(`round-${round}`)))
      expect(statuses(answers)).toEqual([200, 409, 409, 409])
      for (const { json } of answers.filter(({ status }) => status === 409)) {
        expect(json.error).toMatchObject({
          field: 'id',
          message: expect.stringContaining('already exists'),
        })
      }
    }
  })

  it.each(Object.entries(bodies))(
    'the console refuses an id that is not a valid name: %s',
    async (path, body) => {
      for (const id of ['a\u0000b', '\ud800', '', 7]) {
        const { status, json } = await bench.as(operator).post(`api/${path}`, { id, ...body })
        expect(status).toBe(400)
        expect(json).toMatchObject({ error: { field: 'id' } })
      }
    },
  )
})

describe('an app that users can connect, in the console,', () => {
  it('has every field that users see when they connect it, and is hidden from users while in test mode', async () => {
    const app = {
      id: 'connected',
      name: 'Connected',
      markup: { basisPoints: 1 },
      allowedModels: [],
      redirectUris: ['https://connected.example/cb'],
      site: 'https://connected.example',
      suggestedCap: '5',
      owner: 'olga',
      state: 'test',
      testers: ['tina'],
    } as const
    await bench.admin.apps.put(app)
    const list = async (viewer: typeof alice) =>
      (await bench.as(viewer).get<{ apps: { id: string }[] }>('api/apps')).json.apps.find(
        ({ id }) => id === 'connected',
      )
    const was = await list(operator)
    expect(was).toEqual(app)
    const change = { ...app, markup: { basisPoints: 2 }, account: 'olga', was }
    expect((await bench.as(operator).post('api/apps/put', change)).status).toBe(200)
    expect(await bench.admin.apps.list({ appIds: ['connected'] })).toEqual([
      { ...app, markup: { basisPoints: 2 }, account: 'olga' },
    ])
    expect(await list(alice)).toBeUndefined()
  })
})

describe('a token that is replaced in the console', () => {
  const reissue = (viewer: typeof alice, body: object) =>
    bench.as(viewer).post<ReplyOf<'keys/issue'> & { error: object }>('api/keys/reissue', body)

  it('by its user while an operator reduces its rights keeps the reduced rights', async () => {
    const scopes = ['models.run', 'profile']
    const { credentialId } = await bench.admin.keys.issueToken({ account: 'alice', appId: 'notes', scopes })
    const { database } = bench.stores
    const { all } = database
    // Between the console's read of the token and its write.
    database.all = async (statement) => {
      const rows = await all(statement)
      database.all = all
      await bench.admin.keys.reissue(credentialId, { scopes: ['models.run'] })
      return rows
    }
    expect(await reissue(alice, { credentialId })).toMatchObject({
      status: 409,
      json: {
        error: {
          message: expect.stringContaining('has been reissued in the meantime, so no token was issued'),
        },
      },
    })
    expect(await bench.admin.keys.list({ credentialId })).toMatchObject([{ scopes: ['models.run'] }])
  })

  it('must be the token that the form names', async () => {
    const { credentialId, token } = await bench.admin.keys.issue({ account: 'alice' })
    const lastFour = token.slice(-4)
    expect((await reissue(operator, { credentialId, lastFour })).status).toBe(200)
    expect(await reissue(alice, { credentialId, lastFour })).toMatchObject({
      status: 409,
      json: { error: { message: expect.stringContaining('has been replaced since you opened this') } },
    })
  })
})
