import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endpoints } from '../../src/console/endpoints/index.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import { adminFunctions } from '../helpers/admin-functions.js'
import { pngOf } from '../helpers/pictures.js'
import {
  type Answer,
  alice,
  type Bench,
  bob,
  furnish,
  operator,
  startBench,
  type Visitor,
} from './console-bench.js'

/** A request to an endpoint about an account, and whether a user may make it about its own. */
interface Row {
  readonly user: 'own' | 'never' | 'publisher'
  /** The query or the body of a request about `account`. */
  readonly ask?: (account: string, ids: Ids) => Record<string, unknown>
  /** A user's request about another account is answered as if that did not exist. */
  readonly foreign?: 'refused'
}

interface Ids {
  readonly connectedAppId: Readonly<Record<string, string>>
  readonly review: Record<string, unknown>
  /** The hash of the logo of the app in review. */
  readonly logo: string
  readonly credentialId: Readonly<Record<string, string>>
  /** Of a charge. */
  readonly entryId: Readonly<Record<string, string>>
}

const account: Row['ask'] = (name) => ({ account: name })
const credential: Row['ask'] = (name, { credentialId }) => ({ credentialId: credentialId[name] })
const model = { id: 'acme/extra', prices: { input: '1', output: '2' } }
const route = { id: 'extra', model: 'acme/extra', provider: 'fake', adapter: 'fake', upstreamModel: 'x' }
const limit = { id: 'extra-limit', unit: 'credits', amount: '5', per: 'month' }
const app = { id: 'extra-app', markup: { basisPoints: 1 }, allowedModels: [] }

const connectedApp: Row['ask'] = (name, { connectedAppId }) => ({ connectedAppId: connectedAppId[name] })
const ownApp = { id: 'own-app', markup: { basisPoints: 1 }, allowedModels: [] }
const connectable = { name: 'Scribbles', redirectUris: ['https://scribbles.example/cb'] }

/** In this order, an operator's requests can all succeed. An endpoint without a row fails the first test. */
const rows: Readonly<Record<string, Row>> = {
  'GET home': { user: 'never' },
  'GET home/account': { user: 'own', ask: account, foreign: 'refused' },
  'GET me': { user: 'own' },
  'GET live': { user: 'own' },
  'GET events': { user: 'own', ask: account, foreign: 'refused' },
  'GET find': { user: 'own', ask: (name) => ({ text: name }) },
  'GET reports/spend': { user: 'own', ask: (name) => ({ by: 'key', account: name }), foreign: 'refused' },
  'GET reports/spend-over-time': {
    user: 'own',
    ask: (name) => ({ by: 'key', account: name }),
    foreign: 'refused',
  },
  'GET reports/spend-over-time.csv': {
    user: 'own',
    ask: (name) => ({ by: 'key', account: name }),
    foreign: 'refused',
  },
  'GET reports/spend.csv': { user: 'own', ask: (name) => ({ by: 'key', account: name }), foreign: 'refused' },
  'GET reports/statement': { user: 'own', ask: account, foreign: 'refused' },
  'GET entries': { user: 'own', ask: account, foreign: 'refused' },
  'POST entries/refund': {
    user: 'never',
    ask: (name, { entryId }) => ({ entryId: entryId[name], amount: '0.000000001' }),
  },
  'GET entries.csv': { user: 'own', ask: account, foreign: 'refused' },
  'GET calls': { user: 'own', ask: account, foreign: 'refused' },
  'GET calls/over-time': { user: 'own', ask: (name) => ({ by: 'key', account: name }), foreign: 'refused' },
  'GET calls/over-time.csv': {
    user: 'own',
    ask: (name) => ({ by: 'key', account: name }),
    foreign: 'refused',
  },
  'GET calls.csv': { user: 'own', ask: account, foreign: 'refused' },
  'GET accounts': { user: 'own', ask: account, foreign: 'refused' },
  'POST accounts/open': { user: 'never', ask: account },
  'POST accounts/credit': { user: 'never', ask: (name) => ({ account: name, amount: '1' }) },
  'POST accounts/correct': { user: 'never', ask: (name) => ({ account: name, amount: '-1' }) },
  'POST accounts/suspend': { user: 'never', ask: account },
  'POST accounts/resume': { user: 'never', ask: account },
  'POST maintenance/verify': { user: 'never' },
  'GET audit': { user: 'never', ask: account },
  'GET keys': { user: 'own', ask: account, foreign: 'refused' },
  'GET keys/spend': {
    user: 'own',
    ask: (name, { credentialId }) => ({ ids: credentialId[name] }),
  },
  'POST keys/playground': { user: 'own', ask: account, foreign: 'refused' },
  'POST keys/issue': { user: 'own', ask: account, foreign: 'refused' },
  'POST keys/issue-token': {
    user: 'own',
    ask: (name) => ({ account: name, appId: 'notes' }),
    foreign: 'refused',
  },
  'POST keys/reissue': { user: 'own', ask: credential, foreign: 'refused' },
  'POST keys/revoke': { user: 'own', ask: credential, foreign: 'refused' },
  'GET apps': { user: 'own' },
  'POST apps/put': { user: 'never', ask: () => app },
  'POST apps/suspend': { user: 'never', ask: () => ({ id: app.id }) },
  'POST apps/resume': { user: 'never', ask: () => ({ id: app.id }) },
  'POST apps/put-logo': { user: 'never', ask: () => ({ id: app.id, logo: null }) },
  'POST apps/remove': { user: 'never', ask: () => ({ id: app.id }) },
  'GET user-apps/reviews': { user: 'never' },
  'GET apps/logo': {
    user: 'never',
    ask: (_, { review, logo }) => ({ appId: review.appId, hash: logo }),
  },
  'POST user-apps/decide-review': { user: 'never', ask: (_, { review }) => ({ review, decision: 'accept' }) },
  'GET user-apps': { user: 'publisher' },
  'POST user-apps/put': { user: 'publisher', ask: () => ({ ...ownApp, ...connectable, name: 'Own' }) },
  'POST user-apps/put-logo': { user: 'publisher', ask: () => ({ id: ownApp.id, logo: null }) },
  'POST user-apps/ask-for-review': { user: 'publisher', ask: () => ({ id: ownApp.id }) },
  'POST user-apps/remove': { user: 'publisher', ask: () => ({ id: ownApp.id }) },
  'GET connected-apps': { user: 'own', ask: account, foreign: 'refused' },
  'GET connected-apps/history': { user: 'own', ask: connectedApp, foreign: 'refused' },
  'POST connected-apps/set-cap': {
    user: 'own',
    ask: (name, all) => ({ ...connectedApp(name, all), cap: null }),
    foreign: 'refused',
  },
  'POST connected-apps/remove-device': {
    user: 'own',
    ask: (name, all) => ({ ...connectedApp(name, all), connectionId: `device-of-${name}` }),
    foreign: 'refused',
  },
  'POST connected-apps/revoke': { user: 'own', ask: connectedApp, foreign: 'refused' },
  'GET models': { user: 'own' },
  'POST models/put': { user: 'never', ask: () => model },
  'GET routes': { user: 'never' },
  'POST routes/put': { user: 'never', ask: () => route },
  'POST routes/remove': { user: 'never', ask: () => ({ id: route.id }) },
  'POST maintenance/rotate-secrets': { user: 'never' },
  'POST limits/put': {
    user: 'never',
    ask: (name) => ({ ...limit, of: 'account', ownerId: name }),
  },
  'POST limits/remove': { user: 'never', ask: () => ({ id: limit.id }) },
  'POST models/remove': { user: 'never', ask: () => ({ id: model.id }) },
}

const WHO = { own: 'both', never: 'operator', publisher: 'publisher' } as const

let bench: Bench
let ids: Ids
/** Strings that occur only in bob's data. */
let marks: string[]

beforeAll(async () => {
  bench = await startBench({ console: { publish: (name) => name === 'alice' } })
  const tokens = await furnish(bench)
  const call = (name: keyof typeof tokens, who: string) =>
    bench.call(
      tokens[name],
      { session_id: `session-of-${who}`, user: `user-of-${who}` },
      { 'x-request-id': `request-of-${who}` },
    )
  await call('alice', 'alice')
  await call('bob', 'bob')
  await call('bobNotes', 'bob')
  await bench.call(
    tokens.bob,
    { model: 'acme/none', session_id: 'session-of-bob' },
    { 'x-request-id': 'request-of-bob' },
  )
  const credentials = await bench.admin.keys.list()
  const idOf = (name: string) => credentials.find((row) => row.account === name)!.credentialId
  const chargeOf = async (name: string) => (await bench.admin.entries.list({ payer: name })).entries[0]!.id
  ids = {
    credentialId: { alice: idOf('alice'), bob: idOf('bob'), nobody: 'no-such-credential' },
    connectedAppId: {
      alice: await connect('alice'),
      bob: await connect('bob'),
      nobody: 'no-such-app',
    },
    ...(await askForReview()),
    entryId: { alice: await chargeOf('alice'), bob: await chargeOf('bob'), nobody: '0' },
  }
  const ofBob = credentials.filter((row) => row.account === 'bob')
  marks = ['of-bob', ...ofBob.flatMap(({ credentialId, lastFour }) => [credentialId, lastFour])]
})

afterAll(() => bench.close())

async function connect(who: string): Promise<string> {
  const { connect: store } = bench.stores
  await bench.admin.apps.put({ id: 'pad', markup: { basisPoints: 1 }, allowedModels: [], ...connectable })
  const terms = { scopes: ['models.run'], models: [], markup: { basisPoints: 1 } }
  const connected = await store.consent({
    account: who,
    appId: 'pad',
    appName: connectable.name,
    redirectHost: 'scribbles.example',
    ...terms,
  })
  await store.addConnection({ id: `device-of-${who}`, account: who, appId: 'pad' })
  return connected!.connectedAppId
}

async function askForReview(): Promise<Pick<Ids, 'review' | 'logo'>> {
  await bench.admin.userApps.put('bob', {
    ...ownApp,
    id: 'bobbin',
    name: 'Bobbin',
    redirectUris: ['https://bobbin.example/cb'],
  })
  await bench.admin.userApps.putLogo('bob', 'bobbin', pngOf(16, 16))
  await bench.admin.userApps.askForReview('bob', 'bobbin')
  const [app] = await bench.admin.apps.list({ appIds: ['bobbin'] })
  return { review: { ...(await bench.admin.userApps.listReviews())[0]! }, logo: app!.logo!.hash }
}

function send(visitor: Visitor, name: string, ask: Record<string, unknown> = {}): Promise<Answer> {
  const [method, path] = name.split(' ') as [string, string]
  if (method === 'POST') return visitor.post(`api/${path}`, ask)
  return visitor.get(`api/${path}?${new URLSearchParams(ask as Record<string, string>)}`)
}

function expectNothingOfBob({ text }: Answer): void {
  for (const mark of marks) expect(text).not.toContain(mark)
}

describe("the console's table of permissions", () => {
  it('contains every endpoint', () => {
    const names = endpoints.map(({ method, path }) => `${method} ${path}`)
    expect(Object.keys(rows).sort()).toEqual(names.sort())
    for (const { method, path, who } of endpoints) {
      expect(who, path).toBe(WHO[rows[`${method} ${path}`]!.user])
    }
  })

  it('has the names of the functions of administration for its writes', () => {
    const functions = adminFunctions().map((name) => name.replace(' ', '/'))
    const writes = endpoints.filter(({ method }) => method === 'POST').map(({ path }) => path)
    expect(writes.filter((path) => !functions.includes(path))).toEqual(['keys/playground'])
  })

  describe.each(Object.entries(rows))('has %s, which', (name, row) => {
    const ask = (whose: string) => row.ask?.(whose, ids)

    it('is refused before anything is read if nobody is signed in', async () => {
      for (const body of [ask('alice'), { nonsense: 1 }]) {
        const answer = await send(bench.as(undefined), name, body)
        expect(answer.status).toBe(401)
        expect(answer.json).toEqual({ error: { message: expect.stringContaining('You are not signed in') } })
      }
    })

    const [answersOperator, status] =
      row.user === 'publisher'
        ? (['is refused to an operator, who has no account', 403] as const)
        : (['answers an operator about any account', 200] as const)
    it(answersOperator, async () => {
      expect((await send(bench.as(operator), name, ask('bob'))).status).toBe(status)
      // The test above revoked the credential, so its owner cannot revoke it again.
      if (name.endsWith('revoke'))
        ids = { ...ids, credentialId: { ...ids.credentialId, alice: await newKeyOfAlice() } }
    })

    it(row.user === 'never' ? 'is refused to a user' : 'answers a user about its own account', async () => {
      const answer = await send(bench.as(alice), name, ask('alice'))
      expect(answer.status).toBe(row.user === 'never' ? 403 : 200)
      expectNothingOfBob(answer)
      if (row.user === 'never') {
        expect(answer.json).toEqual({ error: { message: 'Only an operator may do this' } })
        // The same for an invalid body: nothing is read before.
        expect((await send(bench.as(alice), name, { nonsense: 1 })).status).toBe(403)
      }
    })
  })

  it.each(Object.keys(rows).filter((name) => rows[name]!.user === 'publisher'))(
    'has %s, which is refused to a user who may not publish apps',
    async (name) => {
      const answer = await send(bench.as(bob), name, { nonsense: 1 })
      expect(answer.status).toBe(403)
      expect(answer.json).toEqual({ error: { message: 'Only an account that may publish apps may do this' } })
    },
  )

  const foreign = Object.entries(rows).filter(([, row]) => row.foreign === 'refused')
  it.each(foreign)(
    "has %s, which answers a user about another user's data as if it did not exist",
    async (name, row) => {
      const ask = (whose: string) => row.ask?.(whose, ids)
      const other = await send(bench.as(alice), name, ask('bob'))
      const none = await send(bench.as(alice), name, ask('nobody'))
      expect(other.status).toBe(404)
      const anonymous = (text: string) =>
        text
          .replace(ids.credentialId.bob!, 'X')
          .replace(/bob|nobody|no-such-credential/, 'X')
          .replace(ids.connectedAppId.bob!, 'X')
          .replace('no-such-app', 'X')
      expect(anonymous(other.text)).toBe(anonymous(none.text))
    },
  )

  async function newKeyOfAlice(): Promise<string> {
    return (await bench.admin.keys.issue({ account: 'alice' })).credentialId
  }
})

describe('a user of the console', () => {
  const user = () => bench.as(alice)

  it('sees its own account without naming it', async () => {
    expect((await user().get('api/reports/statement')).json).toMatchObject({ account: 'alice' })
    expect((await user().get('api/accounts')).json).toMatchObject({ accounts: [{ id: 'alice' }] })
    expect((await user().get('api/accounts?after=zzz')).json).toMatchObject({ accounts: [{ id: 'alice' }] })
    const { json } = await user().get<ReplyOf<'entries'>>('api/entries')
    expect(json.entries.map(({ kind }) => kind)).toContain('charge')
    expect(json.entries.every((entry) => entry.postings.length === 1)).toBe(true)
  })

  it.each([
    'home/account',
    'entries?payments=true',
    'entries?appId=notes',
    'entries?sessionId=session-of-bob',
    'entries?sessionId=session-of-bob&limit=1',
    'entries?requestId=request-of-bob',
    'entries?model=acme/fast',
    'entries?after=9999999999999.1',
    'entries.csv?appId=notes',
    'entries.csv?sessionId=session-of-bob',
    'reports/spend?by=key',
    'reports/spend?by=account',
    'reports/spend?by=app&appId=notes',
    'reports/spend.csv?by=key',
    'reports/spend-over-time?by=key',
    'reports/spend-over-time?by=account',
    'reports/spend-over-time.csv?by=key',
    'calls?limit=200',
    'calls/over-time?by=key',
    'calls/over-time?by=account&problems=true',
    'calls/over-time.csv?by=outcome',
    'calls?problems=true',
    'calls?requestId=request-of-bob',
    'calls?model=acme/none',
    'calls?appId=notes',
    'calls.csv?problems=true',
    'events?limit=1000',
    'events?problems=true',
    'events?model=acme/none',
    'events?requestId=request-of-bob',
    'keys?appId=notes',
    'live',
    'apps',
    'find?text=request-of-bob',
    'find?text=session-of-bob',
    'find?text=b',
  ])('learns nothing about others from %s', async (path) => {
    const answer = await user().get(`api/${path}`)
    expect(answer.status).toBe(200)
    expectNothingOfBob(answer)
    expect(answer.text).not.toContain('platform')
    expect(answer.text).not.toMatch(/"next"/)
  })

  it('learns nothing about the keys of others', async () => {
    const { entries } = await bench.admin.entries.list({ payer: 'bob' })
    const bob = entries.find(({ kind }) => kind === 'charge')!.facts!.credentialId
    const spend = await user().get(`api/keys/spend?ids=${bob}`)
    expect(spend.json).toEqual({ spend: [] })
    const asOperator = await bench.as(operator).get(`api/keys/spend?ids=${bob}`)
    expect(asOperator.json).toMatchObject({ spend: [{ credentialId: bob }] })
    const calls = await user().get(`api/calls?key=${bob}`)
    expect(calls.json).toEqual({ calls: [] })
  })

  it('that earns from the calls of others sees the amounts, but neither payers nor sessions', async () => {
    const developer = bench.as({ kind: 'user', account: 'dev' })
    const { json, text } = await developer.get<ReplyOf<'entries'>>('api/entries')
    const earned = json.entries.find(({ kind }) => kind === 'charge')!
    expect(earned).toEqual({
      id: expect.any(String),
      at: expect.any(Number),
      kind: 'charge',
      amount: expect.stringMatching(/^0\.\d+$/),
      postings: [{ account: 'dev', amount: earned.amount }],
      earnedFrom: { model: 'acme/fast', appId: 'notes' },
    })
    expectNothingOfBob({ text } as Answer)
    for (const filter of ['sessionId=session-of-bob', 'requestId=request-of-bob']) {
      for (const path of [`entries?limit=1&${filter}`, `entries.csv?${filter}`]) {
        const found = await developer.get(`api/${path}`)
        expect(found.status).toBe(200)
        expectNothingOfBob(found)
        expect(found.text).not.toMatch(/next|charge/)
      }
    }
    expect(
      (await developer.get<ReplyOf<'reports/spend'>>('api/reports/spend?by=model')).json.total.calls,
    ).toBe(0)
    expect((await developer.get<ReplyOf<'events'>>('api/events')).json.events).toEqual([])
  })

  it('sees the events of its own calls, but none that belong to no account', async () => {
    bench.pages.onEvent({
      type: 'fault',
      where: 'engine',
      error: { name: 'Error', message: 'secret of-bob' },
    })
    const { json } = await user().get<ReplyOf<'events'>>('api/events?limit=1000')
    expect(json.events.map(({ type, account: whose }) => [type, whose])).toEqual([['request-end', 'alice']])
    const all = await bench.as(operator).get<ReplyOf<'events'>>('api/events')
    expect(all.json.events[0]).toMatchObject({ type: 'fault', message: 'engine: secret of-bob' })
  })

  it('sees neither suspended apps nor earning accounts', async () => {
    await bench.admin.apps.suspend('house')
    try {
      const { json } = await user().get<ReplyOf<'apps'>>('api/apps')
      expect(json.apps.map(({ id }) => id)).toEqual(expect.arrayContaining(['notes']))
      expect(json.apps.map(({ id }) => id)).not.toContain('house')
      expect(json.apps.every((row) => !('account' in row))).toBe(true)
      const refused = await user().post('api/keys/playground', { account: 'alice', appId: 'house' })
      expect(refused.status).toBe(404)
    } finally {
      await bench.admin.apps.resume('house')
    }
  })

  it("gets an app's token on the terms that it has seen, and none for an app in test mode", async () => {
    const app = {
      id: 'tide',
      name: 'Tide',
      markup: { basisPoints: 100 },
      allowedModels: ['acme/fast'],
      owner: 'dev',
    }
    await bench.admin.apps.put(app)
    const { json } = await user().get<ReplyOf<'apps'>>('api/apps')
    const { allowedModels: models, markup } = json.apps.find(({ id }) => id === 'tide')!
    const ask = { account: 'alice', appId: 'tide', terms: { models, markup } }
    for (const path of ['api/keys/playground', 'api/keys/issue-token']) {
      await bench.admin.apps.put(app)
      expect((await user().post(path, ask)).status).toBe(200)
      await bench.admin.apps.put({ ...app, markup: { basisPoints: 90_000 } })
      expect((await user().post(path, ask)).status).toBe(409)
      for (const allowedModels of [['acme/fast', 'acme/dear'], 'all'] as const) {
        await bench.admin.apps.put({ ...app, allowedModels })
        expect((await user().post(path, ask)).status).toBe(409)
      }
      const toAll = { ...ask, terms: { models: 'all', markup } }
      const { json: made } = await user().post<{ token: string }>(path, toAll)
      expect(made.token).toEqual(expect.any(String))
      await bench.admin.apps.put({ ...app, state: 'test' })
      expect((await user().post(path, ask)).status).toBe(404)
    }
    await bench.admin.apps.remove('tide')
  })

  it('sees no metadata of a key, which an operator does', async () => {
    const { credentialId } = await bench.admin.keys.issue({ account: 'alice', metadata: { plan: 'gold' } })
    const listed = async (who: Visitor) => {
      const { json } = await who.get<ReplyOf<'keys'>>('api/keys')
      return json.credentials.find((key) => key.credentialId === credentialId)
    }
    expect(await listed(bench.as(operator))).toMatchObject({ metadata: { plan: 'gold' } })
    expect(await listed(user())).not.toHaveProperty('metadata')
    const query = 'api/keys?metadata=plan%3Dgold'
    const { json } = await bench.as(operator).get<ReplyOf<'keys'>>(query)
    expect(json.credentials.map((key) => key.credentialId)).toEqual([credentialId])
    expect((await bench.as(operator).get<ReplyOf<'keys'>>(`${query}en`)).json.credentials).toEqual([])
    expect((await user().get(query)).status).toBe(403)
    expect((await bench.as(operator).get('api/keys?metadata=plan')).status).toBe(400)
  })

  it("may not set a key's metadata, since limits depend on it", async () => {
    const ask = { account: 'alice', metadata: { tier: 'gold' } }
    expect((await user().post('api/keys/issue', ask)).status).toBe(403)
    expect((await bench.as(operator).post('api/keys/issue', ask)).status).toBe(200)
  })

  it('sees the limits of its own account and keys, but none of others or of apps', async () => {
    const credentialOf = async (account: string) =>
      (await bench.admin.keys.list({ account })).find(({ kind }) => kind === 'api-key')!.credentialId
    for (const name of ['alice', 'bob']) {
      const rate = { id: `rate-of-${name}`, unit: 'requests', amount: '60', per: 'hour' } as const
      await bench.admin.limits.put({ ...rate, of: 'credential', ownerId: await credentialOf(name) })
      await bench.admin.limits.put({ ...rate, id: `budget-of-${name}`, of: 'account', ownerId: name })
    }
    const notes = { id: 'notes-budget', unit: 'credits', amount: '1', per: 'total' } as const
    await bench.admin.limits.put({ ...notes, of: 'app', ownerId: 'notes' })
    const limitsAt = async (path: string, as: Visitor = user()) => {
      const answer = await as.get<{ limits: readonly { id: string }[] }>(`api/${path}`)
      if (as !== all) expectNothingOfBob(answer)
      return answer.json.limits
    }
    const all = bench.as(operator)
    expect(await limitsAt('keys')).toEqual([
      {
        ...{ id: 'rate-of-alice', unit: 'requests', per: 'hour', of: 'credential' },
        ...{ ownerId: await credentialOf('alice'), amount: '60', used: '0', held: '0', left: '60' },
        endsAt: expect.any(Number),
      },
    ])
    expect(await limitsAt('accounts')).toMatchObject([{ id: 'budget-of-alice', ownerId: 'alice' }])
    expect(await limitsAt('apps')).toEqual([])
    expect(await limitsAt('apps', all)).toEqual([
      { ...notes, of: 'app', ownerId: 'notes', used: '0', held: '0', left: '1' },
    ])
    expect(await limitsAt('accounts', all)).toHaveLength(2)
    expect(await limitsAt('keys', all)).toHaveLength(2)
    for (const { id } of await bench.admin.limits.list()) await bench.admin.limits.remove(id)
  })

  it('may restrict a key to some models, and sees them listed', async () => {
    const ask = { account: 'alice', allowedModels: ['acme/fast'] }
    const { json: made } = await user().post<ReplyOf<'keys/issue'>>('api/keys/issue', ask)
    const { json } = await user().get<ReplyOf<'keys'>>('api/keys')
    const row = json.credentials.find(({ credentialId }) => credentialId === made.credentialId)
    expect(row?.allowedModels).toEqual(['acme/fast'])
    await user().post('api/keys/revoke', { credentialId: made.credentialId })
    const { status } = await user().post('api/keys/issue-token', { ...ask, appId: 'notes' })
    expect(status).toBe(400)
  })

  it('may not give an access token any scope except the one that calls need', async () => {
    const ask = { account: 'alice', appId: 'notes', scopes: ['models.run', 'admin'] }
    const refused = await user().post('api/keys/issue-token', ask)
    expect([refused.status, refused.json]).toEqual([
      403,
      { error: { message: 'Only an operator may grant the scope "admin"', field: 'scopes' } },
    ])
    const own = { ...ask, scopes: ['models.run'] }
    expect((await user().post('api/keys/issue-token', own)).status).toBe(200)
    expect((await bench.as(operator).post('api/keys/issue-token', ask)).status).toBe(200)
  })

  describe("who replaces an operator's token", () => {
    const reissue = (visitor: Visitor, credentialId: string, more: object = {}) =>
      visitor.post<ReplyOf<'keys/issue'>>('api/keys/reissue', { credentialId, ...more })
    const principalOf = (token: string) =>
      bench.stores.credentials.resolve(token, { requestId: 'r', signal: new AbortController().signal })

    it('gets one that expires no later', async () => {
      const expiresAt = Date.now() + 3_600_000
      const key = { account: 'alice', expiresAt, metadata: { plan: 'unlimited' } }
      const { credentialId } = await bench.admin.keys.issue(key)
      const { json } = await reissue(user(), credentialId)
      expect(json.expiresAt).toBe(expiresAt)
      expect(await principalOf(json.token)).toMatchObject({ principal: { expiresAt } })
      const later = await reissue(user(), credentialId, { expiresAt: expiresAt + 1 })
      expect([later.status, later.json]).toEqual([
        403,
        {
          error: {
            message: expect.stringContaining('expiresAt must be no later than that of the previous token'),
            field: 'expiresAt',
          },
        },
      ])
      const sooner = await reissue(user(), credentialId, { expiresAt: expiresAt - 1 })
      expect(sooner.json.expiresAt).toBe(expiresAt - 1)
      const none = await reissue(user(), credentialId, { expiresAt: null })
      expect([none.status, none.json]).toMatchObject([403, { error: { field: 'expiresAt' } }])
      const endless = await reissue(bench.as(operator), credentialId, { expiresAt: null })
      expect((await principalOf(endless.json.token)) as object).not.toHaveProperty('principal.expiresAt')
    })

    it('gets none if the old one has expired', async () => {
      const past = { account: 'alice', expiresAt: Date.now() - 1 }
      const { credentialId } = await bench.admin.keys.issue(past)
      const { status, json } = await reissue(user(), credentialId)
      expect([status, json]).toEqual([
        403,
        { error: { message: expect.stringContaining('only an operator may renew it. Make a new one') } },
      ])
      expect((await reissue(bench.as(operator), credentialId)).status).toBe(409)
      expect((await reissue(bench.as(operator), credentialId, { expiresAt: null })).status).toBe(200)
    })

    it('gets one without additional scopes, neither for the credential nor for the token', async () => {
      const scopes = ['models.run', 'profile', 'admin']
      const { credentialId } = await bench.admin.keys.issueToken({
        account: 'alice',
        appId: 'notes',
        scopes,
      })
      const whole = await reissue(user(), credentialId)
      expect(await principalOf(whole.json.token)).toMatchObject({ principal: { scopes } })
      await bench.admin.keys.reissue(credentialId, { scopes: ['models.run', 'profile'] })
      const narrow = await reissue(user(), credentialId)
      expect(await principalOf(narrow.json.token)).toMatchObject({
        principal: { scopes: ['models.run', 'profile'] },
      })
      expect(await reissue(user(), credentialId, { scopes: ['admin'] })).toMatchObject({
        status: 403,
        json: { error: { field: 'scopes' } },
      })
      const less = await reissue(user(), credentialId, { scopes: ['profile'] })
      expect(await principalOf(less.json.token)).toMatchObject({ principal: { scopes: ['profile'] } })
    })
  })

  it('sees its own calls in flight, but not those of other accounts', async () => {
    const { token } = await bench.admin.keys.issue({ account: 'bob' })
    const release = bench.holdUp()
    const calling = bench.call(token, { session_id: 'session-of-bob' }, { 'x-request-id': 'request-of-bob' })
    const live = async (visitor: Visitor) => (await visitor.get<ReplyOf<'live'>>('api/live')).json
    await expect.poll(async () => (await live(bench.as(bob))).inFlight.length).toBe(1)
    expect((await live(bench.as(bob))).inFlight[0]).toMatchObject({
      requestId: 'request-of-bob',
      account: 'bob',
      model: 'acme/fast',
      sessionId: 'session-of-bob',
      startedAt: expect.any(Number),
      holdAmount: expect.stringMatching(/^0\.\d+$/),
    })
    expect((await live(bench.as(operator))).inFlight).toHaveLength(1)
    expect(await live(user())).toMatchObject({ inFlight: [], routes: [] })
    release()
    expect((await calling).status).toBe(200)
    await expect.poll(async () => (await live(bench.as(operator))).inFlight).toEqual([])
    expect((await live(bench.as(operator))).routes).toMatchObject([
      { routeId: 'r:acme/fast', state: 'closed' },
    ])
  })
})

describe("the console's playground", () => {
  it('gets a working key or access token for an hour, which is shown once', async () => {
    const before = Date.now()
    const issue = (body: object) =>
      bench.as(alice).post<ReplyOf<'keys/issue'>>('api/keys/playground', { account: 'alice', ...body })
    for (const [body, prefix] of [
      [{}, 'sk-'],
      [{ appId: 'notes' }, 'at-'],
    ] as const) {
      const { status, json } = await issue(body)
      expect(status).toBe(200)
      expect(json.token.startsWith(prefix)).toBe(true)
      expect(json.expiresAt! - before).toBeGreaterThanOrEqual(3_600_000)
      expect(json.expiresAt! - before).toBeLessThan(3_660_000)
      expect((await bench.call(json.token)).status).toBe(200)
      const listed = await bench.as(alice).get<ReplyOf<'keys'>>('api/keys')
      expect(listed.text).not.toContain(json.token)
      expect(listed.json.credentials.find((row) => row.credentialId === json.credentialId)).toMatchObject({
        label: 'Playground',
        expiresAt: json.expiresAt,
      })
    }
    expect((await issue({ appId: 'none' })).json).toEqual({
      error: { message: 'There is no app "none", or it is suspended', field: 'appId' },
    })
  })
})

describe('the viewer that a host returns to the console', () => {
  it('may have any name from another system, which is shown without invisible characters', async () => {
    const authorise = () => ({ ...alice, name: '\u202bעליזה\u202c \u0000A.' })
    const other = await startBench({ console: { authorise } })
    try {
      const { json } = await other.as(undefined).get('api/me')
      expect(json).toMatchObject({ viewer: { ...alice, name: 'עליזה A.' } })
    } finally {
      await other.close()
    }
  })

  it.each([
    ['an unknown kind', { kind: 'admin' }],
    ['a user without an account', { kind: 'user' }],
    ['an empty account', { kind: 'user', account: '' }],
    ['a word', 'operator'],
    ['yes', true],
    ['no', false],
  ])('gets no access if it is %s', async (_, viewer) => {
    const answer = await bench.as(viewer as never).get('api/accounts')
    expect(answer.status).toBe(500)
    expect(answer.text).not.toContain('alice')
  })
})
