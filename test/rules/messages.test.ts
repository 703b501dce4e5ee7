import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { systemClock } from '../../src/base/clock.js'
import { formatCredits } from '../../src/base/money.js'
import { createSecret } from '../../src/base/secret.js'
import { cachedCatalogue, cachedCredentials } from '../../src/cache/index.js'
import { createConsole, oneTimeSignIn } from '../../src/console/index.js'
import { logEvents } from '../../src/log-events.js'
import {
  memoryCatalogue,
  memoryCredentials,
  memoryIdempotency,
  memoryLedger,
  memoryProviders,
} from '../../src/memory/index.js'
import { createTelemetry } from '../../src/opentelemetry/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { anthropic } from '../../src/providers/anthropic/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import { parseInput } from '../../src/rules/schemas.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { createTestFile } from '../helpers/sqlite.js'

const CREDITS = "a decimal string of credits, zero or more, with at most 9 places, such as '0.15'"
const SIGNED = "a decimal string of credits with at most 9 places, such as '5.00' or '-1.50'"
const NAME = 'must be 1 to 256 bytes of text without control characters or direction overrides'
const adapter = { chat: async () => ({ terminated: true }) }
const pages = { admin: { entries: { list() {} } } as never, authorise: () => undefined }
const key = { kind: 'api-key', account: 'alice' }
const app = { id: 'writer', markup: { basisPoints: 0 }, allowedModels: [] }
const access = { kind: 'access-token', account: 'bob', scopes: [], app }

function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    return (error as TypeError).message
  }
  throw new Error('Nothing was refused')
}

const price = (prices: unknown) => [{ id: 'a', prices }]
const tier = (above: unknown) =>
  price({ input: '1', output: '1', tiers: [{ above, input: '1', output: '1' }] })

describe('the errors of memoryCatalogue', () => {
  it.each<[string, unknown, string]>([
    ['no list', { id: 'a' }, 'memoryCatalogue: models must be a list; got an object'],
    ['null for a model', [null], 'memoryCatalogue: models.0 must be an object; got null'],
    ['no id', [{ id: 'a' }, {}], 'memoryCatalogue: models.1.id is missing; it must be a string'],
    ['an empty id', [{ id: '' }], `memoryCatalogue: models.0.id ${NAME}; got ""`],
    [
      'an id that is a number',
      [{ id: 7 }],
      'memoryCatalogue: models.0.id must be a string; got 7: put it in quotes',
    ],
    [
      'a repeated id',
      [{ id: 'a' }, { id: 'b' }, { id: 'a' }],
      'memoryCatalogue: models.2.id is also that of models.0: give each model its own; got "a"',
    ],
    [
      'a misspelt field',
      [{ id: 'a', price: {} }],
      'models.0.price of "a" is not an option of memoryCatalogue; did you mean models.0.prices?',
    ],
    [
      'a missing input price',
      price({ output: '1' }),
      `memoryCatalogue: models.0.prices.input of "a" is missing; it must be ${CREDITS}`,
    ],
    [
      'a price that is a number',
      price({ input: 0.15, output: '1' }),
      `memoryCatalogue: models.0.prices.input of "a" must be ${CREDITS}; got 0.15: put it in quotes`,
    ],
    [
      'a price below zero',
      price({ input: '-1', output: '1' }),
      `memoryCatalogue: models.0.prices.input of "a" must be ${CREDITS}; got "-1"`,
    ],
    [
      'a price with ten decimal places',
      price({ input: '1', output: '0.0000000001' }),
      `memoryCatalogue: models.0.prices.output of "a" must be ${CREDITS}; got "0.0000000001"`,
    ],
    [
      'prices that are a number',
      price(5),
      'memoryCatalogue: models.0.prices of "a" must be an object; got 5',
    ],
    [
      'only a price of another name',
      price({ inputs: '1', output: '1' }),
      'models.0.prices.inputs of "a" is not an option of memoryCatalogue; did you mean models.0.prices.input?',
    ],
    [
      'tiers that are not a list',
      price({ input: '1', output: '1', tiers: {} }),
      'memoryCatalogue: models.0.prices.tiers of "a" must be a list; got an object',
    ],
    [
      'half a token',
      tier(0.5),
      'memoryCatalogue: models.0.prices.tiers.0.above of "a" must be a whole number; got 0.5',
    ],
    [
      'two tiers above the same',
      price({
        input: '1',
        output: '1',
        tiers: [
          { above: 5, input: '2', output: '2' },
          { above: 5, input: '3', output: '3' },
        ],
      }),
      'memoryCatalogue: models.0.prices.tiers of "a" must not have the same above twice: one of the two would never apply',
    ],
    [
      'a negative number of tokens',
      tier(-1),
      'memoryCatalogue: models.0.prices.tiers.0.above of "a" must be at least 0; got -1',
    ],
    [
      'tokens in quotes',
      tier('5'),
      'memoryCatalogue: models.0.prices.tiers.0.above of "a" must be a whole number; got "5": remove the quotes',
    ],
    [
      'a context of zero tokens',
      [{ id: 'a', contextLength: 0 }],
      'memoryCatalogue: models.0.contextLength of "a" must be above 0; got 0',
    ],
    [
      'a context that is not a number',
      [{ id: 'a', contextLength: Number.NaN }],
      'memoryCatalogue: models.0.contextLength of "a" must be a whole number; got NaN',
    ],
    ['a Set', new Set(), 'memoryCatalogue: models must be a list; got a Set: convert it with Array.from'],
    [
      'a string instead of a list',
      [{ id: 'a', supportedParameters: 'tools' }],
      'memoryCatalogue: models.0.supportedParameters of "a" must be a list; got "tools": put it in square brackets',
    ],
  ])('explain %s: the field, the fault and the fix', (_, models, message) => {
    expect(messageOf(() => memoryCatalogue(models as never))).toBe(message)
  })
})

describe('the errors of memoryCredentials', () => {
  it.each<[string, unknown, string]>([
    ['a list', [], 'memoryCredentials: credentials must be an object; got a list'],
    [
      'a Map',
      new Map([['t', key]]),
      'memoryCredentials: credentials must be an object; got a Map: convert it with Object.fromEntries',
    ],
    [
      'a promise',
      Promise.resolve({}),
      'memoryCredentials: credentials must be an object; got a promise: await it first',
    ],
    ['null', { t: key, u: null }, 'memoryCredentials: credentials.1 must be an object; got null'],
    [
      'no kind',
      { t: { account: 'a' } },
      'memoryCredentials: credentials.0.kind is missing; it must be "api-key" or "access-token"',
    ],
    [
      'another kind',
      { t: { ...key, kind: 'x' } },
      'memoryCredentials: credentials.0.kind must be "api-key" or "access-token"',
    ],
    [
      'no account',
      { t: { kind: 'api-key' } },
      'memoryCredentials: credentials.0.account is missing; it must be a string',
    ],
    ['an empty account', { t: { ...key, account: '' } }, `memoryCredentials: credentials.0.account ${NAME}`],
    [
      'a misspelt account',
      { t: { kind: 'api-key', acount: 'a' } },
      'credentials.0.acount is not an option of memoryCredentials; did you mean credentials.0.account?',
    ],
    [
      'a time that is a date',
      { t: { ...key, expiresAt: new Date(0) } },
      'memoryCredentials: credentials.0.expiresAt must be a time in milliseconds since the Unix epoch; got a Date: use getTime()',
    ],
    [
      'an expiry in seconds',
      { t: { ...key, expiresAt: 1_893_456_000 } },
      'memoryCredentials: credentials.0.expiresAt must be a time in milliseconds since the Unix epoch; this one is in 1970: multiply seconds by 1,000',
    ],
    [
      'a label that is a number',
      { t: { ...key, metadata: { team: 1 } } },
      'memoryCredentials: credentials.0.metadata.team must be a string; got a number: put it in quotes',
    ],
    [
      'no app',
      { t: { ...access, app: undefined } },
      'memoryCredentials: credentials.0.app is missing; it must be an object',
    ],
    [
      'allowed models that are not a list',
      { t: { ...access, app: { ...app, allowedModels: 'a/b' } } },
      "memoryCredentials: credentials.0.app.allowedModels must be a list of model ids, or 'all'; got a string: put it in square brackets",
    ],
    [
      'a markup of ten thousand percent and more',
      { t: { ...access, app: { ...app, markup: { basisPoints: 1_000_001 } } } },
      'memoryCredentials: credentials.0.app.markup.basisPoints must be at most 1,000,000',
    ],
    [
      'a flat markup that is a number',
      { t: { ...access, app: { ...app, markup: { basisPoints: 0, flat: 1 } } } },
      `memoryCredentials: credentials.0.app.markup.flat must be ${CREDITS}; got a number: put it in quotes`,
    ],
    [
      'a token with a space',
      { t: key, 'a b': key },
      'memoryCredentials: credentials.1 must have a token of 1 to 8,192 visible ASCII characters, the only ones that a Bearer header can contain',
    ],
    [
      'a token from a variable that is not set',
      { t: key, [`${undefined}`]: key },
      'memoryCredentials: credentials.1 has the word undefined as its token: is a variable not set?',
    ],
  ])('explain %s: the field, the fault and the fix', (_, tokens, message) => {
    expect(messageOf(() => memoryCredentials(tokens as never))).toBe(message)
  })

  it('name no position for a credential that is put', () => {
    const put = () => memoryCredentials().put('t', { ...key, account: 5 } as never)
    expect(messageOf(put)).toBe(
      'memoryCredentials: credential.account must be a string; got a number: put it in quotes',
    )
  })
})

describe('the errors of memoryProviders', () => {
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'memoryProviders: providers is missing; it must be a list'],
    ['no id', [{ models: {}, adapter }], 'memoryProviders: providers.0.id is missing; it must be a string'],
    [
      'no models',
      [{ id: 'a', adapter }],
      'memoryProviders: providers.0.models of "a" is missing; it must be an object',
    ],
    [
      'a list of models',
      [{ id: 'a', models: ['x'], adapter }],
      'memoryProviders: providers.0.models of "a" must be an object; got a list',
    ],
    [
      'an empty model',
      [{ id: 'a', models: { '': 'x' }, adapter }],
      `memoryProviders: providers.0.models of "a" has a name that ${NAME}`,
    ],
    [
      'an empty upstream model name',
      [{ id: 'a', models: { m: '' }, adapter }],
      'memoryProviders: providers.0.models.m of "a" must not be empty; got ""',
    ],
    [
      'no adapter',
      [{ id: 'a', models: {} }],
      'memoryProviders: providers.0.adapter of "a" must be an adapter with a method for each operation that it serves, such as openaiCompatible({ baseUrl, apiKey })',
    ],
    [
      'a misspelt adapter',
      [{ id: 'a', models: {}, adpter: adapter }],
      'providers.0.adpter of "a" is not an option of memoryProviders; did you mean providers.0.adapter?',
    ],
    [
      'a secret that is a string',
      [{ id: 'a', models: {}, adapter, secret: 'sk' }],
      'memoryProviders: providers.0.secret of "a" must be a secret with a reveal method, such as createSecret(key)',
    ],
    [
      'yes for true',
      [{ id: 'a', models: {}, adapter, enabled: 'yes' }],
      'memoryProviders: providers.0.enabled of "a" must be true or false; got "yes"',
    ],
    [
      'true for yes',
      [{ id: 'a', models: {}, adapter, byok: true }],
      'memoryProviders: providers.0.byok of "a" must be "yes", "no" or "only"; got true',
    ],
    [
      'a negative weight',
      [{ id: 'a', models: {}, adapter, weight: -1 }],
      'memoryProviders: providers.0.weight of "a" must be at least 0; got -1',
    ],
  ])('explain %s: the field, the fault and the fix', (_, providers, message) => {
    expect(messageOf(() => memoryProviders(providers as never))).toBe(message)
  })
})

describe('the errors of admin functions', () => {
  let admin: Admin
  let end: () => Promise<void>
  beforeAll(async () => {
    const place = await createTestFile()
    const stores = sqliteStores({ file: place.file })
    admin = createAdmin(stores)
    end = async () => {
      await stores.close()
      place.remove()
    }
  })
  afterAll(() => end())

  const route = { id: 'r', model: 'm', provider: 'p', adapter: 'openai', upstreamModel: 'u' }

  it.each<[string, unknown, string]>([
    ['models.put', undefined, 'model: is missing; it must be an object'],
    [
      'models.put',
      price({ input: 1, output: '1' })[0],
      `model.prices.input: must be ${CREDITS}; got a number: put it in quotes`,
    ],
    ['models.remove', undefined, 'model.id: is missing; it must be a string'],
    ['accounts.credit', { account: 'a' }, `credit.amount: is missing; it must be ${SIGNED}`],
    [
      'accounts.credit',
      { account: 'a', amount: 5 },
      `credit.amount: must be ${SIGNED}; got a number: put it in quotes`,
    ],
    [
      'accounts.credit',
      { account: 'a', amount: '-5' },
      'credit.amount: must be above 0. To take credits away, make a correction.',
    ],
    [
      'accounts.credit',
      { account: 'a', amount: '0.00' },
      'credit.amount: must be above 0: a credit adds to the balance.',
    ],
    [
      'accounts.credit',
      { account: 'a', amount: '9223372036.854775808' },
      'credit.amount: must be at most 9223372036.854775807 credits',
    ],
    [
      'accounts.correct',
      { account: 'a', amount: '-9223372036.854775808' },
      'correction.amount: must be at least -9223372036.854775807 credits',
    ],
    ['accounts.correct', { account: 'a', amount: '--5' }, `correction.amount: must be ${SIGNED}`],
    ['accounts.open', '', `account: ${NAME}`],
    ['accounts.suspend', {}, 'account: must be a string; got an object'],
    ['accounts.balance', 5, 'account: must be a string; got a number: put it in quotes'],
    ['accounts.find', undefined, 'account: is missing; it must be a string'],
    ['accounts.list', { limit: 1.5 }, 'accounts.limit: must be a whole number; got a fraction'],
    ['accounts.list', { after: 5 }, 'accounts.after: must be a string; got a number: put it in quotes'],
    ['keys.issue', 'alice', 'key: must be an object; got a string'],
    [
      'keys.issue',
      { account: 'a', expiresAt: '2026-01-01' },
      'key.expiresAt: must be a time in milliseconds since the Unix epoch; got a string',
    ],
    [
      'keys.issue',
      { account: 'a', expiresAt: 1_893_456_000 },
      'key.expiresAt: must be a time in milliseconds since the Unix epoch; this one is in 1970: multiply seconds by 1,000',
    ],
    [
      'keys.issue',
      { account: 'a', label: 'x'.repeat(1_001) },
      'key.label: must have at most 1,000 characters',
    ],
    [
      'keys.issueToken',
      { account: 'a', appId: 'x', scopes: 'models.run' },
      'access token.scopes: must be a list; got a string: put it in square brackets',
    ],
    ['keys.reissue', undefined, 'credentialId: is missing; it must be a string'],
    ['keys.revoke', {}, 'credentialId: must be a string; got an object'],
    ['apps.put', { ...app, markup: {} }, 'app.markup.basisPoints: is missing; it must be a whole number'],
    ['apps.suspend', undefined, 'app.id: is missing; it must be a string'],
    ['apps.resume', 5, 'app.id: must be a string; got a number: put it in quotes'],
    ['routes.put', { ...route, model: undefined }, 'route.model: is missing; it must be a string'],
    ['routes.put', { ...route, settings: [] }, 'route.settings: must be an object; got a list'],
    ['routes.put', { ...route, secret: '' }, 'route.secret: must not be empty'],
    ['routes.remove', undefined, 'route.id: is missing; it must be a string'],
    [
      'reports.spend',
      { by: 'colour' },
      'spend.by: must be "day", "model", "app", "key", "account" or "provider"',
    ],
  ])('explain bad input to %s: the field, the fault and the fix', async (name, input, message) => {
    const [group, own] = name.split('.') as [keyof Admin, string]
    const functions = admin[group] as unknown as Readonly<
      Record<string, (input: unknown) => Promise<unknown>>
    >
    const call = functions[own]!
    await expect(call(input)).rejects.toMatchObject({ message })
  })

  it('name the stores that it needs', () => {
    for (const stores of [undefined, null, 'file.db', { ledger: memoryLedger() }]) {
      expect(messageOf(() => createAdmin(stores as never))).toContain(
        'createAdmin: stores must be the stores of sqliteStores({ file }) or postgresStores(pool)',
      )
    }
  })
})

describe('an invalid argument', () => {
  const file = { file: 'never-made.db' }
  it.each<[string, () => unknown, string]>([
    [
      'an amount',
      () => formatCredits(1.5 as never),
      "formatCredits takes a bigint of 10^-9 credit, such as 1_500_000_000n for '1.5'; got number",
    ],
    [
      'a secret',
      () => createSecret(undefined as never),
      'createSecret takes a string; got undefined. Is an environment variable missing?',
    ],
    [
      'a credential store',
      () => cachedCredentials(undefined as never),
      'cachedCredentials: store is missing; it must be an object with resolve',
    ],
    [
      'a catalogue',
      () => cachedCatalogue(memoryCredentials() as never),
      'cachedCatalogue: store has no method list()',
    ],
    [
      'a cache option',
      () => cachedCatalogue(memoryCatalogue(), { ttlMS: 5 } as never),
      'ttlMS is not an option of cachedCatalogue; did you mean ttlMs?',
    ],
    [
      'a cache option without its unit',
      () => cachedCredentials(memoryCredentials(), { ttl: 60_000 } as never),
      'ttl is not an option of cachedCredentials; did you mean ttlMs?',
    ],
    [
      'a number of entries without its unit',
      () => cachedCatalogue(memoryCatalogue(), { max: 5 } as never),
      'max is not an option of cachedCatalogue; did you mean maxEntries?',
    ],
    [
      'a misspelt version',
      () => anthropic({ versions: '2030-01-01' } as never),
      'versions is not an option of anthropic; did you mean version?',
    ],
    [
      'options of a cache',
      () => cachedCredentials(memoryCredentials(), 5_000 as never),
      'cachedCredentials takes an object of options; got a number',
    ],
    [
      'an option of a reply store',
      () => memoryIdempotency({ maxbytes: 5 } as never),
      'maxbytes is not an option of memoryIdempotency; did you mean maxBytes?',
    ],
    [
      'a number of bytes without its unit',
      () => memoryIdempotency({ max: 5 } as never),
      'max is not an option of memoryIdempotency; did you mean maxBytes?',
    ],
    [
      'a clock of a cache',
      () => cachedCredentials(memoryCredentials(), { clock: { now: Date.now } as never }),
      'cachedCredentials: clock has no method after()',
    ],
    [
      'a clock of a ledger',
      () => memoryLedger({}, { clock: 5 as never }),
      'memoryLedger: clock must be an object with now; got 5',
    ],
    [
      'null as the clock of a ledger',
      () => memoryLedger({}, { clock: null as never }),
      'memoryLedger: clock is missing; it must be an object with now',
    ],
    [
      'an option of a ledger',
      () => memoryLedger({}, { clocks: systemClock } as never),
      'clocks is not an option of memoryLedger; did you mean clock?',
    ],
    [
      'ids of a ledger',
      () => memoryLedger({}, { newId: 'entry' as never }),
      'memoryLedger: newId must be a function; got "entry"',
    ],
    [
      'a clock of a store of replies',
      () => memoryIdempotency({ clock: Date.now as never }),
      'memoryIdempotency: clock has no method now()',
    ],
    [
      'a clock of the console',
      () => createConsole({ ...pages, clock: Date.now as never }),
      'createConsole: clock has no method now()',
    ],
    [
      'a clock of a sign-in',
      () => oneTimeSignIn({ clock: {} as never }),
      'oneTimeSignIn: clock has no method now()',
    ],
    [
      'parameters of an adapter',
      () => aiSdk({ model: () => ({}) as never, parameters: new Map() as never }),
      'aiSdk: parameters must be an object of functions by name, such as { reasoning_effort: (value) => ({ openai: { reasoningEffort: value } }) }',
    ],
    [
      'a parameter of an adapter',
      () => aiSdk({ model: () => ({}) as never, parameters: { seed: 'seed' as never } }),
      'aiSdk: parameters.seed must be a function that turns its value into providerOptions: { reasoning_effort: (value) => ({ openai: { reasoningEffort: value } }) }; got "seed"',
    ],
    ['a logger', () => logEvents({ info() {} } as never), 'logEvents: logger has no method warn()'],
    ['options of stores', () => sqliteStores(undefined as never), 'sqliteStores takes an object of options'],
    [
      'an option of stores',
      () => sqliteStores({ ...file, adapter: {} } as never),
      'adapter is not an option of sqliteStores; did you mean adapters?',
    ],
    [
      'an option of stores in PostgreSQL',
      () => postgresStores({ connect() {} } as never, { secretKey: [] } as never),
      'secretKey is not an option of postgresStores; did you mean secretKeys?',
    ],
    [
      'a list of keys',
      () => sqliteStores({ ...file, secretKeys: {} as never }),
      'sqliteStores: secretKeys must be a list, such as [{ id, key }]; got an object',
    ],
    [
      'a key',
      () => sqliteStores({ ...file, secretKeys: [undefined as never] }),
      'sqliteStores: secretKeys.0 is missing; it must be an object',
    ],
    [
      'a factory of adapters',
      () => sqliteStores({ ...file, adapters: { openai: adapter as never } }),
      'sqliteStores: adapters.openai must be a function that makes an adapter from settings: { openai: openaiCompatible }',
    ],
    ...[new Map([['openai', openaiCompatible]]), [openaiCompatible], 'openai', true, 5].map(
      (adapters): [string, () => unknown, string] => [
        'adapters by name',
        () => sqliteStores({ ...file, adapters: adapters as never }),
        `sqliteStores: adapters must be an object of functions by name, such as { openai: openaiCompatible }${typeof adapters === 'object' ? '' : `; got ${JSON.stringify(adapters)}`}`,
      ],
    ),
    ...[true, null].map((schema): [string, () => unknown, string] => [
      `a schema name (${schema})`,
      () => postgresStores({ connect() {} } as never, { schema: schema as never }),
      `postgresStores: schema must be 1 to 40 characters of a-z, 0-9 and _, not starting with a digit; got ${schema}`,
    ]),
    [
      'an event listener',
      () => sqliteStores({ ...file, onEvent: {} as never }),
      'sqliteStores: onEvent must be a function',
    ],
    [
      'a meter',
      () => createTelemetry({ meter: {} as never }),
      'createTelemetry: meter must be false, or a meter with createHistogram',
    ],
    [
      'a tracer',
      () => createTelemetry({ tracer: true as never }),
      'createTelemetry: tracer must be false, or a tracer with startSpan; got true',
    ],
    [
      'a telemetry option',
      () => createTelemetry({ metre: {} } as never),
      'metre is not an option of createTelemetry; did you mean meter?',
    ],
    [
      'a router to observe',
      () => createConsole(pages).observe({ routes: () => [] } as never),
      'observe: router has no method calls()',
    ],
    [
      'a hint of the console',
      () => createConsole({ ...pages, signInHint: 1 as never }),
      'createConsole: signInHint must be a string; got 1: put it in quotes',
    ],
  ])('as %s is refused at once', (_, make, message) => {
    expect(messageOf(make)).toBe(message)
  })

  it('leaves a cache option at its default if it is undefined', () => {
    expect(() => cachedCredentials(memoryCredentials(), { ttlMs: undefined } as never)).not.toThrow()
  })
})

describe('parseInput', () => {
  it('shows no value, and external names only up to one line', () => {
    const schema = z.strictObject({ secret: z.int().optional() })
    expect(messageOf(() => parseInput(schema, { secret: 'sk-secret' }, 'it'))).not.toContain('sk-secret')
    expect(messageOf(() => parseInput(schema, { [`a\n\u001b${'b'.repeat(100)}`]: 1 }, 'it'))).toBe(
      `it: has no field "a${'b'.repeat(63)}"; its fields are secret`,
    )
    const numbers = z.record(z.string(), z.number())
    expect(messageOf(() => parseInput(numbers, { 'a\nb': 'c' }, 'it'))).toBe(
      'it.ab: must be a number; got a string',
    )
  })

  it('names every limit', () => {
    const schema = z.object({
      list: z.array(z.int()).min(2).max(3),
      part: z.number().gt(0).lt(1),
      word: z.string().min(3),
    })
    const of = (value: object) =>
      messageOf(() => parseInput(schema, { list: [1, 2], part: 0.5, word: 'abc', ...value }, 'it'))
    expect(of({ list: [1] })).toBe('it.list: must have at least 2 items')
    expect(of({ list: [1, 2, 3, 4] })).toBe('it.list: must have at most 3 items')
    expect(of({ part: 0 })).toBe('it.part: must be above 0')
    expect(of({ part: 1 })).toBe('it.part: must be below 1')
    expect(of({ word: 'a' })).toBe('it.word: must have at least 3 characters')
  })
})
