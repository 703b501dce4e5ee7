import { expect, it } from 'vitest'
import { createAdmin, sessionHandler } from '../src/admin/index.js'
import { browserSession } from '../src/browser/index.js'
import { createConnect } from '../src/connect/index.js'
import { createConsole, oneTimeSignIn } from '../src/console/index.js'
import { routeHandlers } from '../src/handler.js'
import {
  anthropic,
  cachedCatalogue,
  cachedCredentials,
  createCompatRouter,
  generateEnvelopeKey,
  introspectionCredentials,
  jwtCredentials,
  keyring,
  memoryCalls,
  memoryCatalogue,
  memoryCredentials,
  memoryIdempotency,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from '../src/index.js'
import { createTelemetry } from '../src/opentelemetry/index.js'
import { postgresStores } from '../src/postgres/index.js'
import { catalogueFromGenaiPrices } from '../src/price-lists/index.js'
import { aiSdk } from '../src/providers/ai-sdk/index.js'
import { sqliteStores } from '../src/sqlite/index.js'

const parts = () => ({
  credentials: memoryCredentials(),
  catalogue: memoryCatalogue(),
  ledger: memoryLedger(),
  providers: memoryProviders([]),
})
const baseUrl = 'https://api.example.com/v1'
const file = 'never-made.db'
const principal = () => ({})
const jwt = { issuer: 'https://id.example', audience: 'a', jwks: 'https://id.example/keys', principal }
const introspection = {
  endpoint: 'https://id.example/introspect',
  auth: { clientId: 'a', clientSecret: 'b' },
  audience: 'a',
  principal,
}
const connect = {
  url: 'https://host.example/connect',
  router: 'https://host.example/compat/v1',
  stores: { connect: { findApp() {} }, catalogue: { get() {} } },
  authenticate: () => undefined,
  signIn: () => '/login',
  secrets: ['s'.repeat(32)],
  host: { name: 'Acme' },
  cap: { suggested: '5' },
}
const session = {
  admin: { sessions: { resume() {} } },
  authenticate: () => undefined,
  origins: ['https://app.example'],
}
const pages = { admin: { entries: { list() {} } }, authorise: () => undefined }

/** Each function with options, and a member that is of the wrong type. */
const TABLE: readonly [name: string, make: (more: object) => unknown, wrong: object, field: string][] = [
  ['createCompatRouter', (more) => createCompatRouter({ ...parts(), ...more }), { openapi: 1 }, 'openapi'],
  [
    'timeouts of createCompatRouter',
    (more) => createCompatRouter({ ...parts(), timeouts: more }),
    { totalMs: '1' },
    'timeouts.totalMs',
  ],
  ['memoryCalls', (more) => memoryCalls(more), { max: '1' }, 'max'],
  ['memoryCredentials', (more) => memoryCredentials({}, more), { clock: 1 }, 'clock'],
  ['memoryIdempotency', (more) => memoryIdempotency(more), { maxBytes: '1' }, 'maxBytes'],
  ['memoryLedger', (more) => memoryLedger({}, more), { keepEntries: '1' }, 'keepEntries'],
  ['cachedCatalogue', (more) => cachedCatalogue(memoryCatalogue(), more), { ttlMs: '1' }, 'ttlMs'],
  ['cachedCredentials', (more) => cachedCredentials(memoryCredentials(), more), { loadMs: '1' }, 'loadMs'],
  ['sqliteStores', (more) => sqliteStores({ file, ...more }), { keepCallsMs: '1' }, 'keepCallsMs'],
  ['postgresStores', (more) => postgresStores({ connect() {} } as never, more), { schema: 1 }, 'schema'],
  [
    'createAdmin',
    (more) => createAdmin({ database: {} } as never, more),
    { keysPerAccount: '1' },
    'keysPerAccount',
  ],
  ['openaiCompatible', (more) => openaiCompatible({ baseUrl, ...more }), { streamUsage: 1 }, 'streamUsage'],
  ['anthropic', (more) => anthropic(more), { version: 1 }, 'version'],
  ['aiSdk', (more) => aiSdk({ model: () => ({}) as never, ...more }), { takesKeys: 1 }, 'takesKeys'],
  ['createConsole', (more) => createConsole({ ...pages, ...more } as never), { basePath: 1 }, 'basePath'],
  ['oneTimeSignIn', (more) => oneTimeSignIn(more), { linkMs: '1' }, 'linkMs'],
  ['jwtCredentials', (more) => jwtCredentials({ ...jwt, ...more } as never), { typ: 1 }, 'typ'],
  [
    'introspectionCredentials',
    (more) => introspectionCredentials({ ...introspection, ...more } as never),
    { ttlMs: '1' },
    'ttlMs',
  ],
  ['createConnect', (more) => createConnect({ ...connect, ...more } as never), { onEvent: 1 }, 'onEvent'],
  [
    'rates of createConnect',
    (more) => createConnect({ ...connect, rates: more } as never),
    { tokens: '1' },
    'rates.tokens',
  ],
  ['sessionHandler', (more) => sessionHandler({ ...session, ...more } as never), { ttlMs: '1' }, 'ttlMs'],
  [
    'budget of sessionHandler',
    (more) => sessionHandler({ ...session, budget: { amount: '1', ...more } } as never),
    { per: 1 },
    'budget.per',
  ],
  ['browserSession', (more) => browserSession({ refresh: '/session', ...more }), { refresh: 1 }, 'refresh'],
  ['keyring', (more) => keyring([], more), { clock: 1 }, 'clock'],
  ['routeHandlers', (more) => routeHandlers((() => undefined) as never, more), { waitUntil: 1 }, 'waitUntil'],
  ['createTelemetry', (more) => createTelemetry(more), { meter: 1 }, 'meter'],
  ['catalogueFromGenaiPrices', (more) => catalogueFromGenaiPrices([], more), { filter: 1 }, 'filter'],
]

it.each(TABLE)('%s refuses an unknown option and one of the wrong type, by name', (_, make, wrong, field) => {
  expect(() => make(wrong)).toThrow(
    expect.objectContaining({ code: 'invalid_option', field, name: 'OptionsError' }),
  )
  const unknown = field.replace(/\w+$/, 'qqqqqq')
  expect(() => make({ qqqqqq: 1 })).toThrow(
    expect.objectContaining({ code: 'unknown_option', field: unknown, name: 'OptionsError' }),
  )
})

it('createCompatRouter refuses a base path that no request can have', () => {
  expect(() => createCompatRouter({ ...parts(), basePath: 'compat' })).toThrow(
    expect.objectContaining({ code: 'invalid_option', field: 'basePath' }),
  )
})

it('generateEnvelopeKey rejects an unknown option and a wrong curve, by name', async () => {
  const made = (options: object) => generateEnvelopeKey('kid', options)
  await expect(made({ curve: 5 })).rejects.toMatchObject({ code: 'invalid_option', field: 'curve' })
  await expect(made({ qqqqqq: 5 })).rejects.toMatchObject({ code: 'unknown_option', field: 'qqqqqq' })
})

it('an error about options shows no key, no header and no password of an address', () => {
  const secret = 'sk-secret'
  for (const wrong of [
    { apiKey: `${secret} x` },
    { headers: { 'x-key': `${secret}\n` } },
    { baseUrl: `https://a:${secret}@b.example` },
    { baseUrl: `https://b.example/?key=${secret}` },
  ]) {
    expect(() => openaiCompatible({ baseUrl, ...wrong })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(secret) }),
    )
  }
})
