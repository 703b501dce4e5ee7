import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { createConsole } from '../../src/console/index.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'
import { alice, operator, visitor } from './console-bench.js'

/** A list of 400 kB, longer than any that can be written: three of them are more than a page. */
const LONG = Array.from({ length: 20_000 }, (_, index) => `a-long-model/${index}`)
const [LARGE_ROWS, APPS, REVIEWS] = [7, 230, 120]
const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name}-${1_000 + index}`)

interface Paged {
  readonly next?: string
}

describe.each(engineNames)('a page of the console on %s', (name) => {
  const engine = useEngine(name)
  let stores: DurableStores
  let admin: Admin
  let host: MountedHost
  const keys: string[] = []

  beforeAll(async () => {
    stores = engine.open('paged_lists')
    admin = createAdmin(stores)
    await admin.accounts.open('alice')
    for (let index = 0; index < LARGE_ROWS; index++) {
      keys.push((await admin.keys.issue({ account: 'alice', allowedModels: [] })).credentialId)
    }
    // Lists are in the order of ids, which is random within a millisecond.
    keys.sort()
    await stores.database.all({
      text: 'update {credentials} set allowed_models = ?1',
      parameters: [JSON.stringify(LONG)],
    })
    for (const id of numbered('app', APPS)) {
      await admin.apps.put({ id, markup: { basisPoints: 100 }, allowedModels: [] })
    }
    for (const id of numbered('large', LARGE_ROWS)) {
      const app = { id, name: id, owner: 'alice', markup: { basisPoints: 100 }, allowedModels: [] }
      await admin.apps.put(app)
      await stores.database.all({
        text: 'update {apps} set definition = ?2 where id = ?1',
        parameters: [id, JSON.stringify({ ...app, allowedModels: LONG })],
      })
    }
    await stores.database.all({
      text: `insert into {app_reviews} (app_id, definition, done_by, at)
        select id, '{"live":true}', 'alice', 1 from {apps} where id like 'app-%' order by id limit ${REVIEWS}`,
    })
    const pages = createConsole({
      admin,
      authorise: (req) => JSON.parse((req.headers['x-viewer'] as string | undefined) ?? 'null'),
      publish: () => true,
    })
    host = await listenHttp(
      createServer((req, res) => pages(req, res)),
      '',
    )
  })
  afterAll(() => host.close())

  /** Reads all pages of a list, one after the other. */
  async function pagesOf<Reply extends Paged>(path: string, viewer = operator) {
    const found: Reply[] = []
    for (let after: string | undefined; ; after = found.at(-1)!.next) {
      const asked = after === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}after=${after}`
      const { json, status } = await visitor(host.baseUrl, new URL(host.baseUrl).origin, viewer).get<Reply>(
        asked,
      )
      expect(status).toBe(200)
      found.push(json)
      if (json.next === undefined) return found
    }
  }

  /** Reads all pages of administration, until one is empty. */
  async function allOf<Row>(
    list: (page: { after?: string }) => Promise<readonly Row[]>,
    idOf: (row: Row) => string,
  ) {
    const found: string[][] = []
    for (;;) {
      const after = found.at(-1)?.at(-1)
      const ids = (await list(after === undefined ? {} : { after })).map(idOf)
      if (ids.length === 0) return found
      found.push(ids)
    }
  }

  it('of admin rows that is cut short by large rows continues at its last row, with nothing lost or repeated', async () => {
    const credentials = await allOf(
      (page) => admin.keys.list({ account: 'alice', limit: 5, ...page }),
      ({ credentialId }) => credentialId,
    )
    expect(credentials.flat()).toEqual(keys.toReversed())
    expect(credentials[0]!.length).toBeLessThan(5)
    const apps = await allOf(
      (page) => admin.apps.list({ owner: 'alice', ...page }),
      ({ id }) => id,
    )
    expect(apps.flat()).toEqual(numbered('large', LARGE_ROWS))
    expect(apps[0]!.length).toBeLessThan(LARGE_ROWS)
  })

  it('of keys that is cut short by large rows continues at its cursor, with nothing lost or repeated', async () => {
    for (const shown of ['all', 'in-use']) {
      const found = await pagesOf<ReplyOf<'keys'>>(`api/keys?account=alice&shown=${shown}`, alice)
      expect(found.flatMap(({ credentials }) => credentials.map(({ credentialId }) => credentialId))).toEqual(
        keys.toReversed(),
      )
    }
  })

  it('of apps that is cut short by large rows continues at its cursor, with nothing lost or repeated', async () => {
    const all = [...numbered('app', APPS), ...numbered('large', LARGE_ROWS)]
    for (const viewer of [operator, alice]) {
      const found = await pagesOf<ReplyOf<'apps'>>('api/apps', viewer)
      expect(found.flatMap(({ apps }) => apps.map(({ id }) => id))).toEqual(all)
      expect(found.length).toBeGreaterThan(2)
    }
    const own = await pagesOf<ReplyOf<'user-apps'>>('api/user-apps', alice)
    expect(own.flatMap(({ ownApps }) => ownApps.map(({ id }) => id))).toEqual(numbered('large', LARGE_ROWS))
    expect(own.length).toBeGreaterThan(1)
  })

  it('of a search has every app with the text in its name or id, even those beyond the first page', async () => {
    for (const viewer of [operator, alice]) {
      const idsOf = async (query: string) =>
        (await pagesOf<ReplyOf<'apps'>>(`api/apps?${query}`, viewer)).map(({ apps }) =>
          apps.map(({ id }) => id),
        )
      expect(await idsOf('search=P-122')).toEqual([numbered('app', APPS).slice(220)])
      expect(await idsOf('search=app-122&limit=4')).toEqual([
        ['app-1220', 'app-1221', 'app-1222', 'app-1223'],
        ['app-1224', 'app-1225', 'app-1226', 'app-1227'],
        ['app-1228', 'app-1229'],
      ])
      expect(await idsOf('search=none')).toEqual([[]])
      expect(await idsOf('id=app-1229')).toEqual([['app-1229']])
    }
  })

  it('of reviews is followed by further ones until each review was shown once', async () => {
    const found = await pagesOf<ReplyOf<'user-apps/reviews'>>('api/user-apps/reviews')
    expect(found.map(({ reviews }) => reviews.length)).toEqual([50, 50, 20])
    expect(found.flatMap(({ reviews }) => reviews.map(({ app }) => app?.id))).toEqual(
      numbered('app', REVIEWS),
    )
  })
})
