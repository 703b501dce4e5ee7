import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import type { ProviderAdapter } from '../../src/contracts/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import type { Row, SqlDatabase, Statement } from '../../src/sql/database.js'
import { createSqlRegistry } from '../../src/sql/registry.js'
import { createSecretBox } from '../../src/sql/secret-box.js'
import type { StoresEvent } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { FAILING } from '../helpers/failing.js'
import { hear } from '../helpers/hear.js'
import { context } from '../helpers/ledger-requests.js'

interface Settings {
  readonly baseUrl: string
}

const model = { id: 'acme/fast', created: 0, ownedBy: 'acme' }
const oldKey = { id: 'k1', key: randomBytes(32) }
const newKey = { id: 'k2', key: randomBytes(32).toString('base64') }

/** Creates an adapter factory that records its adapters. */
function createFactory() {
  const built: { settings: Settings; closed: boolean }[] = []
  const openai = (settings: Settings): ProviderAdapter => {
    if (settings.baseUrl.endsWith('/bad')) throw new TypeError('baseUrl is bad')
    const record = { settings, closed: false }
    built.push(record)
    return {
      chat: async () => ({ terminated: true }),
      close: async () => {
        await setImmediate()
        record.closed = true
      },
    }
  }
  return { built, adapters: { openai, mistral: openai } }
}

/** Administration of a program that has no adapters, and so cannot build one to check a route. */
function adminWithoutAdapters({ database, ledger, secrets }: Parameters<typeof createAdmin>[0]): Admin {
  return createAdmin({ database, ledger, secrets })
}

/** Administration with a concurrent change: its first read returns rows that have changed since. */
function afterFirstRead(
  stores: Parameters<typeof createAdmin>[0],
  change: (admin: Admin) => Promise<unknown>,
): Admin {
  let isChanged = false
  const database = {
    ...stores.database,
    async all(statement: Statement) {
      const rows = await stores.database.all(statement)
      if (!isChanged) {
        isChanged = true
        await change(createAdmin(stores))
      }
      return rows
    },
  }
  return createAdmin({ ...stores, database })
}

const route = {
  id: 'r1',
  model: 'acme/fast',
  provider: 'openai',
  adapter: 'openai',
  upstreamModel: 'gpt-4o-mini',
  settings: { baseUrl: 'https://api.example.com/v1' },
}

describe.each(engineNames)('the provider registry in %s', (name) => {
  const engine = useEngine(name)

  it.each([
    [
      'adapter',
      { adapter: 'constructor' },
      'route.adapter: must be one of the adapters given to the stores: "openai".',
    ],
    [
      'setting',
      { settings: { ...route.settings, proxy: 'http://proxy.example' } },
      'route.settings.proxy: is not an option of openaiCompatible; its options are baseUrl, headers, dispatcher, apiKey,',
    ],
    [
      'misspelt setting',
      { settings: { ...route.settings, outputbound: 'max_tokens' } },
      'route.settings.outputbound: is not an option of openaiCompatible; did you mean outputBound?',
    ],
    [
      'dispatcher',
      { settings: { ...route.settings, dispatcher: { dispatch: () => true } } },
      'route.settings.dispatcher: must be a Dispatcher of undici',
    ],
  ])('is given no route whose %s does not exist', async (what, wrong, message) => {
    const stores = engine.open(`refused_${what.replace(' ', '_')}`, {
      adapters: { openai: openaiCompatible },
    })
    const admin = createAdmin(stores)
    await expect(admin.routes.put({ ...route, ...wrong })).rejects.toThrow(TypeError)
    await expect(admin.routes.put({ ...route, ...wrong })).rejects.toThrow(message)
    expect(await admin.routes.list()).toEqual([])
    expect(await admin.routes.put(route)).toBe(true)
  })

  it('builds routes from rows, in order, with their secrets', async () => {
    const { built, adapters } = createFactory()
    const stores = engine.open('built', { adapters, secretKeys: [oldKey] })
    const admin = adminWithoutAdapters(stores)
    await admin.routes.put({
      ...route,
      secret: 'sk-upstream',
      weight: 0.5,
      onDisconnect: 'abort',
      promptEscapes: 'html',
      byok: 'no',
    })
    await admin.routes.put({ ...route, id: 'r0', enabled: false })
    await admin.routes.put({ ...route, id: 'other', model: 'acme/slow' })
    const routes = await stores.providers.routes(model, context)
    expect(routes.map(({ id }) => id)).toEqual(['r1', 'r0'])
    const [first, second] = routes
    expect(first).toMatchObject({
      provider: 'openai',
      upstreamModel: 'gpt-4o-mini',
      weight: 0.5,
      onDisconnect: 'abort',
      promptEscapes: 'html',
      byok: 'no',
    })
    expect(first?.secret?.reveal()).toBe('sk-upstream')
    expect(String(first?.secret)).toBe('[secret]')
    expect(second).toMatchObject({ enabled: false })
    expect(second && 'secret' in second).toBe(false)
    expect(built.map(({ settings }) => settings.baseUrl)).toEqual([
      route.settings.baseUrl,
      route.settings.baseUrl,
    ])
    const rows = await stores.database.all({ text: 'select definition, secret from {routes}' })
    expect(JSON.stringify(rows)).not.toContain('sk-upstream')
    const listed = await admin.routes.list({ model: 'acme/fast' })
    expect(listed[0]).toMatchObject({ id: 'r1', secretKeyId: 'k1' })
    expect(JSON.stringify(listed)).not.toContain('sk-upstream')
  })

  it('leaves out a route with an unknown adapter or invalid settings, and reports it', async () => {
    const events: StoresEvent[] = []
    const { adapters } = createFactory()
    const stores = engine.open('unknown', { adapters, onEvent: (event) => events.push(event) })
    const admin = adminWithoutAdapters(stores)
    await admin.routes.put({ ...route, id: 'strange', adapter: 'constructor' })
    await admin.routes.put({ ...route, id: 'bad', settings: { baseUrl: 'https://api.example.com/bad' } })
    await admin.routes.put(route)
    const routes = await stores.providers.routes(model, context)
    expect(routes.map(({ id }) => id)).toEqual(['r1'])
    expect(events).toEqual([
      {
        type: 'route-disabled',
        routeId: 'strange',
        why: 'There is no adapter "constructor": the stores were given openai, mistral',
      },
      { type: 'route-disabled', routeId: 'bad', why: 'baseUrl is bad' },
    ])
  })

  it.each(FAILING)(
    "returns the other routes if the host's onEvent %s for a route that is left out",
    async (what, onEvent) => {
      const { adapters } = createFactory()
      const stores = engine.open(`host_${what}`, { adapters, onEvent })
      const admin = adminWithoutAdapters(stores)
      await admin.routes.put({ ...route, id: 'strange', adapter: 'constructor' })
      await admin.routes.put(route)
      const warned = once(process, 'warning')
      expect((await stores.providers.routes(model, context)).map(({ id }) => id)).toEqual(['r1'])
      const [{ message }] = await warned
      expect(message).toBe("onEvent of compat-router's durable stores failed: Error: mine")
    },
  )

  it('applies changed rows, keeps an adapter with unchanged settings, and closes all adapters', async () => {
    const { built, adapters } = createFactory()
    const stores = engine.open('kept', { adapters, secretKeys: [oldKey] })
    const admin = createAdmin(engine.open('kept', { secretKeys: [oldKey] }))
    await admin.routes.put(route)
    const adapterOf = async () => (await stores.providers.routes(model, context))[0]?.adapter
    const first = await adapterOf()
    await admin.routes.put({ ...route, weight: 3 })
    const weightOf = async () => (await stores.providers.routes(model, context))[0]?.weight
    await expect.poll(weightOf).toBe(3)
    expect(await adapterOf()).toBe(first)
    await admin.routes.put({ ...route, settings: { baseUrl: 'https://eu.example.com/v1' } })
    await expect.poll(adapterOf).not.toBe(first)
    const second = await adapterOf()
    await admin.routes.put({
      ...route,
      adapter: 'mistral',
      settings: { baseUrl: 'https://eu.example.com/v1' },
    })
    await expect.poll(adapterOf).not.toBe(second)
    expect(await admin.routes.remove('r1')).toBe(true)
    expect(await admin.routes.remove('r1')).toBe(false)
    await expect.poll(adapterOf).toBeUndefined()
    expect(built.map(({ closed }) => closed)).toEqual([false, false, false])
    await stores.providers.close?.()
    expect(built.map(({ closed }) => closed)).toEqual([true, true, true])
  })

  it.each(FAILING)(
    'closes everything else and rejects if the close of an adapter %s',
    async (what, close) => {
      const { built, adapters } = createFactory()
      const bad = (): ProviderAdapter => ({ chat: async () => ({ terminated: true }), close })
      const stores = engine.open(`bad_close_${what}`, { adapters: { ...adapters, bad } })
      const admin = adminWithoutAdapters(stores)
      await admin.routes.put({ ...route, id: 'first', adapter: 'bad' })
      await admin.routes.put(route)
      await stores.providers.routes(model, context)
      await expect(stores.close()).rejects.toThrow('mine')
      expect(built.map(({ closed }) => closed)).toEqual([true])
      await expect(stores.ledger.balance('alice', context)).rejects.toThrow('The store is closed')
    },
  )

  it('does not open a secret that was moved to another row, provider or address', async () => {
    const events: StoresEvent[] = []
    const { adapters } = createFactory()
    const stores = engine.open('moved', {
      adapters,
      secretKeys: [oldKey],
      onEvent: (event) => events.push(event),
    })
    const admin = createAdmin(stores)
    await admin.routes.put({ ...route, secret: 'sk-upstream' })
    await admin.routes.put({ ...route, id: 'thief' })
    const definition = async (change: object) => {
      await stores.database.batch([
        {
          text: 'update {routes} set definition = ?1 where id = ?2',
          parameters: [JSON.stringify({ ...route, id: undefined, model: undefined, ...change }), 'r1'],
        },
        stores.database.change('routes', model.id),
      ])
    }
    const disabled = async () => {
      events.length = 0
      await stores.providers.close?.()
      await stores.providers.routes(model, context)
      return events.map((event) => event.type === 'route-disabled' && event.routeId)
    }
    expect(await disabled()).toEqual([])
    await definition({ settings: { baseUrl: 'https://evil.example.com/v1' } })
    expect(await disabled()).toEqual(['r1'])
    expect(events[0]).toMatchObject({ why: expect.stringContaining('does not open') })
    await definition({ provider: 'evil' })
    expect(await disabled()).toEqual(['r1'])
    await definition({ settings: { baseUrl: 'https://api.example.com/v2' } })
    expect(await disabled()).toEqual([])
    await stores.database.all({
      text: `update {routes} set secret_key_id = 'k1', secret = (select r.secret from {routes} r where r.id = 'r1')
        where id = 'thief'`,
    })
    expect(await disabled()).toEqual(['thief'])
    for (const change of [{ settings: { baseUrl: 'https://evil.example.com/v1' } }, { provider: 'evil' }]) {
      await expect(admin.routes.put({ ...route, ...change })).rejects.toThrow('give it again')
    }
  })

  it('reseals secrets under a new key, after which the old one is not needed', async () => {
    const { adapters } = createFactory()
    const before = createAdmin(engine.open('rotated', { secretKeys: [oldKey] }))
    await before.routes.put({ ...route, secret: 'sk-upstream' })
    await before.routes.put({ ...route, id: 'without' })
    const during = engine.open('rotated', { adapters, secretKeys: [newKey, oldKey] })
    const secretOf = async (stores: typeof during) =>
      (await stores.providers.routes(model, context)).find(({ id }) => id === 'r1')?.secret?.reveal()
    expect(await secretOf(during)).toBe('sk-upstream')
    expect(await createAdmin(during).maintenance.rotateSecrets()).toBe(1)
    expect(await createAdmin(during).maintenance.rotateSecrets()).toBe(0)
    const after = engine.open('rotated', { adapters, secretKeys: [newKey] })
    expect(await secretOf(after)).toBe('sk-upstream')
    const events: StoresEvent[] = []
    const late = engine.open('rotated', {
      adapters,
      secretKeys: [oldKey],
      onEvent: (event) => events.push(event),
    })
    expect(await secretOf(late)).toBeUndefined()
    expect(events).toEqual([
      { type: 'route-disabled', routeId: 'r1', why: 'No secret key "k2" was given in secretKeys' },
    ])
  })

  it('does not count a secret that was replaced before it could be resealed', async () => {
    const before = createAdmin(engine.open('raced', { secretKeys: [oldKey] }))
    for (const id of ['r1', 'r2']) await before.routes.put({ ...route, id, secret: 'sk-upstream' })
    const stores = engine.open('raced', { secretKeys: [newKey, oldKey] })
    const rotating = afterFirstRead(stores, (admin) => admin.routes.put({ ...route, secret: 'sk-new' }))
    expect(await rotating.maintenance.rotateSecrets()).toBe(1)
  })

  it.each([
    ['resealed', (admin: Admin) => admin.maintenance.rotateSecrets(), 'sk-upstream'],
    ['replaced', (admin: Admin) => admin.routes.put({ ...route, secret: 'sk-new' }), 'sk-new'],
    ['removed', (admin: Admin) => admin.routes.put({ ...route, secret: null }), undefined],
  ])(
    'keeps the change if the secret is %s while its route is put without one',
    async (what, change, kept) => {
      const { adapters } = createFactory()
      const database = `meanwhile_${what.replace(' ', '_')}`
      const before = createAdmin(engine.open(database, { secretKeys: [oldKey] }))
      await before.routes.put({ ...route, secret: 'sk-upstream' })
      const stores = engine.open(database, { secretKeys: [newKey, oldKey] })
      await afterFirstRead(stores, change).routes.put({ ...route, weight: 0.5 })
      const after = engine.open(database, { adapters, secretKeys: [newKey] })
      const [found] = await after.providers.routes(model, context)
      expect([found?.weight, found?.secret?.reveal()]).toEqual([0.5, kept])
      await after.close()
    },
  )

  it('returns true to only one of two callers that remove a route at the same time', async () => {
    const stores = engine.open('removed')
    await createAdmin(stores).routes.put(route)
    const removing = afterFirstRead(stores, async (admin) => {
      expect(await admin.routes.remove('r1')).toBe(true)
    })
    expect(await removing.routes.remove('r1')).toBe(false)
  })

  it('reports both models if a route moves from one to the other', async () => {
    const stores = engine.open('moved')
    const admin = createAdmin(stores)
    await admin.routes.put(route)
    const heard = await hear(stores.providers.watch!)
    await admin.routes.put({ ...route, model: 'acme/other' })
    expect(await heard.next()).toBe('acme/other')
    expect(await heard.next()).toBe(route.model)
    heard.end()
  })

  it('refuses an API key in the settings, and a secret without a key to seal it with', async () => {
    const admin = createAdmin(engine.open('bad'))
    for (const name of ['apiKey', 'api_key', 'secret', 'token', 'password', 'Authorization']) {
      const settings = { baseUrl: 'https://a.example', [name]: 'sk-oops' }
      await expect(admin.routes.put({ ...route, settings })).rejects.toThrow(`route.settings.${name}: `)
    }
    await expect(admin.routes.put({ ...route, secret: 'sk-upstream' })).rejects.toThrow('secretKeys')
    await expect(admin.routes.put({ ...route, settings: { baseUrl: 'nowhere' } })).rejects.toThrow(
      'settings.baseUrl: must be an absolute URL',
    )
  })
})

describe('the cache of the provider registry', () => {
  /** A registry whose reads get these answers in turn, and then always the last one. */
  function openRegistry(...answers: (Error | readonly Row[])[]) {
    const asked: string[] = []
    let tell = (_isConnected: boolean): void => {}
    const registry = createSqlRegistry({
      database: {
        all: async ({ text }: Statement) => {
          asked.push(text)
          const answer = answers.length > 1 ? answers.shift() : answers[0]
          if (answer instanceof Error) throw answer
          return answer
        },
        watch: (_topic, _changed, connection) => {
          tell = connection!
          tell(true)
          return () => undefined
        },
      } as Partial<SqlDatabase> as SqlDatabase,
      adapters: {},
      secrets: createSecretBox(),
      onEvent: () => undefined,
    })
    return { registry, asked, tell: (isConnected: boolean) => tell(isConnected) }
  }

  it('reads again after a failure, and keeps the next result', async () => {
    const { registry, asked } = openRegistry(new Error('The connection was lost'), [])
    await expect(registry.routes(model, context)).rejects.toThrow('The connection was lost')
    expect(await registry.routes(model, context)).toEqual([])
    expect(await registry.routes(model, context)).toEqual([])
    expect(asked).toHaveLength(2)
  })

  it('reads every time while changes are not reported, and keeps no earlier result', async () => {
    const { registry, asked, tell } = openRegistry([])
    for (const isConnected of [true, false, true]) {
      tell(isConnected)
      for (let time = 0; time < 2; time++) await registry.routes(model, context)
    }
    expect(asked).toHaveLength(1 + 2 + 1)
  })
})
