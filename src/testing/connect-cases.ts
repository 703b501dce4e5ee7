import { strict as assert } from 'node:assert'
import { createToken } from '../base/tokens.js'
import type {
  App,
  Awaitable,
  ConnectStore,
  Consent,
  CredentialResult,
  CredentialStore,
  NewConnectToken,
  NewOauthRow,
} from '../contracts/index.js'
import {
  asOpened,
  type CaseNeed,
  type ConformanceCase,
  createContext,
  listenTo,
  type Opened,
} from './base/case.js'

/** An app that users can connect. */
export interface ConnectCaseApp extends App {
  readonly redirectUris: readonly string[]
}

export interface OpenedConnect extends Opened<ConnectStore> {
  /** The store that resolves the tokens of the same database, without a cache. */
  readonly credentials: CredentialStore
  /** Registers an app, or replaces it. */
  putApp(app: ConnectCaseApp): Awaitable<unknown>
  suspendApp(id: string): Awaitable<unknown>
  resumeApp(id: string): Awaitable<unknown>
  suspendAccount(account: string): Awaitable<unknown>
}

/** Opens your stores for the cases. */
export interface ConnectHarness {
  /** Opens stores with these apps, connected to no account. The account `alice` exists. */
  open(apps: readonly ConnectCaseApp[]): Awaitable<OpenedConnect>
}

export type ConnectCase = ConformanceCase<ConnectHarness>

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const notes: ConnectCaseApp = {
  id: 'notes',
  name: 'Notes',
  redirectUris: ['https://notes.example/cb', 'http://127.0.0.1/cb'],
  markup: { basisPoints: 2_000, flat: '0.001' },
  allowedModels: ['acme/fast', 'acme/slow'],
  account: 'notes-owner',
}
const other: ConnectCaseApp = {
  ...notes,
  id: 'other',
  name: 'Another',
  redirectUris: ['https://other.example/cb'],
}

/** The requirements for the store behind Connect, together with the store that resolves its tokens. */
export const connectCases: readonly ConnectCase[] = Object.freeze([
  connectCase(
    'connect-app',
    'an app is found as it is registered, and also if it is suspended',
    async (bench) => {
      const found = await bench.store.findApp('notes')
      assert.ok(found !== undefined)
      assert.deepEqual(found.redirectUris, notes.redirectUris)
      assert.deepEqual(found.markup, notes.markup)
      assert.deepEqual(found.allowedModels, notes.allowedModels)
      assert.deepEqual([found.name, found.state, found.suspended], ['Notes', 'live', false])
      await bench.suspendApp('notes')
      assert.equal((await bench.store.findApp('notes'))?.suspended, true)
      assert.equal(await bench.store.findApp('nobody'), undefined)
    },
  ),
  connectCase('connect-consent', 'a consent creates a grant with its terms', async (bench) => {
    const consent = bench.consentOf('alice', 'notes', {
      cap: { amount: 5_000_000_000n, per: 'month', zone: 'Europe/Berlin' },
      capRule: { required: true, max: 9_000_000_000n, per: 'month', zone: 'Europe/Berlin' },
      endsAt: bench.now + DAY_MS,
    })
    const answer = await bench.store.consent(consent)
    assert.ok(answer !== undefined)
    const grant = await bench.store.findConnectedApp('alice', 'notes')
    assert.ok(grant !== undefined)
    const { createdAt, ...terms } = grant
    assert.ok(Number.isSafeInteger(createdAt))
    assert.deepEqual(terms, {
      id: answer.connectedAppId,
      account: 'alice',
      appId: 'notes',
      scopes: consent.scopes,
      models: consent.models,
      markup: consent.markup,
      cap: consent.cap,
      capRule: consent.capRule,
      endsAt: consent.endsAt,
    })
    assert.equal(await bench.store.findConnectedApp('bob', 'notes'), undefined)
    assert.equal(await bench.store.findConnectedApp('alice', 'other'), undefined)
  }),
  connectCase(
    'connect-consent-again',
    'a second consent replaces the terms and keeps the id',
    async (bench) => {
      const id = await bench.grant('alice', 'notes', { cap: { amount: 1n, per: 'day' } })
      assert.equal(
        await bench.grant('alice', 'notes', { models: ['acme/slow'], scopes: ['credits.read'] }),
        id,
      )
      const grant = await bench.store.findConnectedApp('alice', 'notes')
      assert.deepEqual(
        [grant?.models, grant?.scopes, grant?.cap],
        [['acme/slow'], ['credits.read'], undefined],
      )
    },
  ),
  connectCase('connect-one-grant', 'of consents at once only one creates a grant', async (bench) => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => bench.grant('alice', 'notes')))
    assert.equal(new Set(ids).size, 1)
  }),
  connectCase(
    'connect-consent-refused',
    'no consent is stored for a suspended or unknown app, or for a suspended account',
    async (bench) => {
      assert.equal(await bench.store.consent(bench.consentOf('alice', 'nobody')), undefined)
      const id = await bench.grant('alice', 'notes')
      await bench.suspendApp('notes')
      assert.equal(await bench.store.consent(bench.consentOf('alice', 'notes', { models: [] })), undefined)
      assert.deepEqual((await bench.store.findConnectedApp('alice', 'notes'))?.models, notes.allowedModels)
      assert.equal((await bench.store.findConnectedApp('alice', 'notes'))?.id, id)
      await bench.suspendAccount('alice')
      assert.equal(await bench.store.consent(bench.consentOf('alice', 'other')), undefined)
    },
  ),
  connectCase('connect-token', 'a token resolves to its grant, on the terms agreed to', async (bench) => {
    const credentialId = await bench.grant('alice', 'notes')
    const token = await bench.device('alice', 'notes', 'phone')
    const result = await bench.resolve(token.token)
    assert.ok(result.ok && result.principal.kind === 'access-token')
    const { principal } = result
    assert.deepEqual([principal.credentialId, principal.account], [credentialId, 'alice'])
    assert.deepEqual(principal.scopes, ['models.run'])
    assert.deepEqual(principal.app, {
      id: 'notes',
      name: 'Notes',
      markup: notes.markup,
      allowedModels: notes.allowedModels,
      account: 'notes-owner',
    })
    assert.deepEqual(principal.origins, ['https://notes.example'])
    assert.equal(principal.expiresAt, token.expiresAt)
    assert.deepEqual(withoutTime(await bench.store.findToken(token.token)), {
      connectionId: 'phone',
      account: 'alice',
      appId: 'notes',
      scopes: ['models.run'],
      expiresAt: token.expiresAt,
    })
  }),
  connectCase(
    'connect-markup',
    'a call pays the smaller one of the consented and the present markup, in each field',
    async (bench) => {
      await bench.grant('alice', 'notes')
      const { token } = await bench.device('alice', 'notes', 'phone')
      const paid = async (markup: App['markup']) => {
        await bench.putApp({ ...notes, markup })
        return (await bench.app(token)).markup
      }
      assert.deepEqual(await paid({ basisPoints: 9_000, flat: '0.5' }), { basisPoints: 2_000, flat: '0.001' })
      assert.deepEqual(await paid({ basisPoints: 100, flat: '0.5' }), { basisPoints: 100, flat: '0.001' })
      assert.deepEqual(await paid({ basisPoints: 9_000, flat: '0.0001' }), {
        basisPoints: 2_000,
        flat: '0.0001',
      })
      assert.deepEqual(await paid({ basisPoints: 9_000 }), { basisPoints: 2_000 })
      // The consented values never follow the app's.
      assert.deepEqual(await paid(notes.markup), notes.markup)
    },
  ),
  connectCase(
    'connect-models',
    'a call may use a model if it was agreed to and the app has it',
    async (bench) => {
      await bench.grant('alice', 'notes', { models: ['acme/fast', 'acme/gone'] })
      const { token } = await bench.device('alice', 'notes', 'phone')
      await bench.putApp({ ...notes, allowedModels: ['acme/new', 'acme/fast', 'acme/slow'] })
      assert.deepEqual((await bench.app(token)).allowedModels, ['acme/fast'])
      await bench.putApp({ ...notes, allowedModels: [] })
      assert.deepEqual((await bench.app(token)).allowedModels, [])
    },
  ),
  connectCase(
    'connect-all-models',
    'a call may use every model only if the user agreed to all and the app still has all',
    async (bench) => {
      const allowed = async (token: string, models: App['allowedModels']) => {
        await bench.putApp({ ...notes, allowedModels: models })
        return (await bench.app(token)).allowedModels
      }
      await bench.grant('alice', 'notes', { models: ['acme/fast'] })
      const { token: some } = await bench.device('alice', 'notes', 'phone')
      assert.deepEqual(await allowed(some, 'all'), ['acme/fast'])
      assert.equal((await bench.store.findApp('notes'))?.allowedModels, 'all')
      await bench.grant('bob', 'notes', { models: 'all' })
      assert.equal((await bench.store.findConnectedApp('bob', 'notes'))?.models, 'all')
      const { token: all } = await bench.device('bob', 'notes', 'tablet')
      assert.equal(await allowed(all, 'all'), 'all')
      assert.deepEqual(await allowed(all, ['acme/slow']), ['acme/slow'])
    },
  ),
  connectCase('connect-scopes', 'a token has those of its scopes that the grant still has', async (bench) => {
    await bench.grant('alice', 'notes', { scopes: ['models.run', 'credits.read'] })
    const { token } = await bench.device('alice', 'notes', 'phone', { scopes: ['models.run', 'admin'] })
    assert.deepEqual(await bench.scopes(token), ['models.run'])
    await bench.grant('alice', 'notes', { scopes: ['credits.read'] })
    assert.deepEqual(await bench.scopes(token), [])
  }),
  connectCase('connect-end', 'a token ends with its grant, if that ends earlier', async (bench) => {
    const endsAt = bench.now + 10_000
    await bench.grant('alice', 'notes', { endsAt })
    const { token } = await bench.device('alice', 'notes', 'phone')
    const result = await bench.resolve(token)
    assert.equal(result.ok && result.principal.expiresAt, endsAt)
    assert.equal((await bench.store.findToken(token))?.expiresAt, endsAt)
    assert.equal((await bench.store.findConnection('phone'))?.endsAt, endsAt)
    await bench.grant('alice', 'notes', { endsAt: bench.now - 1_000 })
    assert.equal(refusalOf(await bench.resolve(token)), 'expired')
    assert.equal(await bench.store.findToken(token), undefined)
    assert.equal(await bench.store.findConnection('phone'), undefined)
    assert.equal(await bench.add('alice', 'notes', 'tablet'), false)
  }),
  connectCase(
    'connect-end-renewed',
    'a consent after the end of a grant keeps its id and revives none of its devices',
    async (bench) => {
      const id = await bench.grant('alice', 'notes')
      const before = await bench.device('alice', 'notes', 'phone')
      await bench.grant('alice', 'notes', { endsAt: bench.now + HOUR_MS })
      assert.ok((await bench.resolve(before.token)).ok)
      await bench.grant('alice', 'notes', { endsAt: bench.now - 1_000 })
      await bench.suspendApp('notes')
      assert.equal(await bench.store.consent(bench.consentOf('alice', 'notes')), undefined)
      await bench.resumeApp('notes')
      assert.equal(refusalOf(await bench.resolve(before.token)), 'expired')
      assert.equal(await bench.grant('alice', 'notes'), id)
      assert.ok((await bench.resolve((await bench.device('alice', 'notes', 'laptop')).token)).ok)
      const late = bench.tokenOf('phone')
      await bench.store.saveToken(late)
      for (const { token } of [before, late]) {
        assert.equal(refusalOf(await bench.resolve(token)), 'revoked')
        assert.equal(await bench.store.findToken(token), undefined)
      }
      assert.equal(await bench.store.findConnection('phone'), undefined)
    },
  ),
  connectCase(
    'connect-revoke',
    'a revoked grant refuses all its tokens, and a new one revives none',
    async (bench) => {
      const first = await bench.grant('alice', 'notes')
      const [phone, laptop] = [
        await bench.device('alice', 'notes', 'phone'),
        await bench.device('alice', 'notes', 'laptop'),
      ]
      await bench.grant('alice', 'other')
      const stays = await bench.device('alice', 'other', 'other-phone')
      assert.equal(
        await bench.store.disconnectApp('alice', 'notes', { kind: 'account', name: 'alice' }),
        true,
      )
      assert.equal(
        await bench.store.disconnectApp('alice', 'notes', { kind: 'account', name: 'alice' }),
        false,
      )
      assert.equal(await bench.store.disconnectApp('bob', 'other', { kind: 'account', name: 'bob' }), false)
      assert.equal(await bench.store.findConnectedApp('alice', 'notes'), undefined)
      assert.notEqual(await bench.grant('alice', 'notes'), first)
      for (const { token } of [phone, laptop]) assert.equal(refusalOf(await bench.resolve(token)), 'revoked')
      assert.equal(await bench.store.findToken(phone.token), undefined)
      assert.equal(await bench.store.findConnection('phone'), undefined)
      assert.ok((await bench.resolve(stays.token)).ok)
    },
  ),
  connectCase(
    'connect-suspended',
    'a suspended app or account refuses tokens until it is resumed',
    async (bench) => {
      await bench.grant('alice', 'notes')
      const { token } = await bench.device('alice', 'notes', 'phone')
      await bench.suspendApp('notes')
      assert.equal(refusalOf(await bench.resolve(token)), 'suspended')
      assert.equal(await bench.store.findConnection('phone'), undefined)
      await bench.resumeApp('notes')
      assert.ok((await bench.resolve(token)).ok)
      assert.notEqual(await bench.store.findConnection('phone'), undefined)
      await bench.suspendAccount('alice')
      assert.equal(refusalOf(await bench.resolve(token)), 'suspended')
      assert.equal(await bench.store.findToken(token), undefined)
      assert.equal(await bench.store.findConnection('phone'), undefined)
    },
  ),
  connectCase(
    'connect-connection',
    'a connection needs a grant, and is found with its scopes',
    async (bench) => {
      assert.equal(await bench.add('alice', 'notes', 'phone'), false)
      assert.equal(await bench.store.findConnection('phone'), undefined)
      assert.equal(await bench.store.saveToken(bench.tokenOf('phone')), false)
      await bench.grant('alice', 'notes')
      assert.equal(await bench.add('alice', 'notes', 'phone'), true)
      assert.equal(await bench.add('alice', 'notes', 'phone'), true)
      assert.deepEqual(withoutTime(await bench.store.findConnection('phone')), {
        id: 'phone',
        account: 'alice',
        appId: 'notes',
        scopes: ['models.run'],
      })
    },
  ),
  connectCase(
    'connect-connection-end',
    'an ended connection refuses its tokens, also one that is saved later, and no others',
    async (bench) => {
      await bench.grant('alice', 'notes')
      const phone = await bench.device('alice', 'notes', 'phone')
      const laptop = await bench.device('alice', 'notes', 'laptop')
      assert.equal(await bench.store.endConnection('phone', 'replayed'), true)
      assert.equal(await bench.store.endConnection('phone', 'replayed'), false)
      assert.equal(await bench.store.endConnection('nobody', 'removed'), false)
      const late = bench.tokenOf('phone')
      await bench.store.saveToken(late)
      for (const { token } of [phone, late]) {
        assert.equal(refusalOf(await bench.resolve(token)), 'revoked')
        assert.equal(await bench.store.findToken(token), undefined)
      }
      assert.equal(await bench.store.findConnection('phone'), undefined)
      assert.ok((await bench.resolve(laptop.token)).ok)
    },
  ),
  connectCase(
    'connect-token-revoke',
    'one token is revoked, and the others of its connection stay',
    async (bench) => {
      await bench.grant('alice', 'notes')
      const first = await bench.device('alice', 'notes', 'phone')
      const second = bench.tokenOf('phone')
      assert.equal(await bench.store.saveToken(second), true)
      assert.equal(await bench.store.revokeToken(first.token), true)
      assert.equal(await bench.store.revokeToken(first.token), false)
      assert.equal(await bench.store.revokeToken(createToken('access-token')), false)
      assert.equal(refusalOf(await bench.resolve(first.token)), 'revoked')
      assert.ok((await bench.resolve(second.token)).ok)
    },
  ),
  connectCase('connect-cap', 'all devices share one cap, which a new grant takes over', async (bench) => {
    const cap = { amount: 5_000_000_000n, per: 'month' } as const
    await bench.grant('alice', 'notes', { cap })
    const phone = await bench.device('alice', 'notes', 'phone')
    const laptop = await bench.device('alice', 'notes', 'laptop')
    const [limit] = await bench.limits(phone.token)
    assert.deepEqual(
      [limit?.unit, limit?.amount, limit?.per, limit?.of ?? 'credential'],
      ['credits', cap.amount, 'month', 'credential'],
    )
    assert.deepEqual(await bench.limits(laptop.token), [limit])
    await bench.store.disconnectApp('alice', 'notes', { kind: 'account', name: 'alice' })
    await bench.grant('alice', 'notes', { cap: { ...cap, amount: 1n } })
    const [next, ...more] = await bench.limits((await bench.device('alice', 'notes', 'again')).token)
    assert.deepEqual([next, more], [{ ...limit, amount: 1n }, []])
    assert.equal(await bench.store.spentInPeriod('alice', 'notes', cap), 0n)
    await bench.grant('bob', 'notes', { cap })
    const [bobs] = await bench.limits((await bench.device('bob', 'notes', 'bobs')).token)
    assert.notEqual(bobs?.id, limit?.id)
  }),
  connectCase('connect-oauth', 'an OAuth row is found by its id until it is destroyed', async (bench) => {
    const row = { ...bench.row('Interaction', 'request-1'), payload: { a: 1, b: ['ä'] } }
    await bench.store.putOauth(row)
    assert.deepEqual(await bench.store.findOauth('Interaction', 'request-1'), {
      payload: row.payload,
      expiresAt: row.expiresAt,
    })
    assert.equal(await bench.store.findOauth('RefreshToken', 'request-1'), undefined)
    assert.equal(await bench.store.findOauth('Interaction', 'REQUEST-1'), undefined)
    await bench.store.putOauth({ ...row, payload: { c: null } })
    assert.deepEqual((await bench.store.findOauth('Interaction', 'request-1'))?.payload, { c: null })
    await bench.store.destroyOauth('Interaction', 'request-1')
    await bench.store.destroyOauth('Interaction', 'request-1')
    assert.equal(await bench.store.findOauth('Interaction', 'request-1'), undefined)
  }),
  connectCase(
    'connect-oauth-expired',
    'an expired OAuth row is neither found nor consumed',
    async (bench) => {
      await bench.store.putOauth({ ...bench.row('AuthorizationCode', 'old'), expiresAt: bench.now - 1_000 })
      assert.equal(await bench.store.findOauth('AuthorizationCode', 'old'), undefined)
      assert.equal(await bench.store.consumeOauth('AuthorizationCode', 'old'), undefined)
    },
  ),
  connectCase(
    'connect-oauth-consume',
    'of attempts at once to consume a row exactly one is first',
    async (bench) => {
      await bench.store.putOauth(bench.row('AuthorizationCode', 'code'))
      const attempts = await Promise.all(
        Array.from({ length: 30 }, () => bench.store.consumeOauth('AuthorizationCode', 'code')),
      )
      assert.equal(attempts.filter((attempt) => attempt?.first === true).length, 1)
      assert.ok(
        attempts.every((attempt) => attempt !== undefined && attempt.msAgo >= 0 && attempt.msAgo < HOUR_MS),
      )
      assert.equal(await bench.store.consumeOauth('AuthorizationCode', 'nobody'), undefined)
      await bench.store.putOauth({ ...bench.row('AuthorizationCode', 'code'), payload: { again: true } })
      const row = await bench.store.findOauth('AuthorizationCode', 'code')
      assert.ok(row?.consumedMsAgo !== undefined, 'a consumed row must stay consumed')
    },
  ),
  connectCase('connect-sweep', 'expired rows are swept, and no others', async (bench) => {
    await bench.grant('alice', 'notes')
    const live = await bench.device('alice', 'notes', 'phone')
    const gone = await bench.device('alice', 'notes', 'laptop', { expiresAt: bench.now - DAY_MS })
    const expired = { ...bench.tokenOf('phone'), expiresAt: bench.now - 1_000 }
    await bench.store.saveToken(expired)
    await bench.store.putOauth({ ...bench.row('RefreshToken', 'live'), connectionId: 'phone' })
    for (let index = 0; index < 5; index++) {
      await bench.store.putOauth({
        ...bench.row('Interaction', `old-${index}`),
        expiresAt: bench.now - 1_000,
      })
      await bench.store.saveToken({ ...bench.tokenOf('phone'), expiresAt: bench.now - DAY_MS })
    }
    let swept = 0
    for (let count = 1; count > 0; swept += count) count = await bench.store.sweep(4)
    assert.equal(swept, 12, 'five rows, six tokens and one connection must be swept')
    assert.ok((await bench.resolve(live.token)).ok)
    assert.equal(refusalOf(await bench.resolve(expired.token)), 'expired')
    assert.equal(refusalOf(await bench.resolve(gone.token)), 'unknown')
    assert.notEqual(await bench.store.findOauth('RefreshToken', 'live'), undefined)
    assert.notEqual(await bench.store.findConnection('phone'), undefined)
    assert.equal(await bench.store.findConnection('laptop'), undefined)
  }),
  connectCase(
    'connect-watch',
    'revocations of grants, connections and tokens are reported by the credential id',
    async (bench) => {
      assert.ok(bench.credentials.watch, 'this case needs a credential store with `watch`')
      const grantId = await bench.grant('alice', 'notes')
      const { token } = await bench.device('alice', 'notes', 'phone')
      await bench.device('alice', 'notes', 'laptop')
      const watch = listenTo(bench.credentials.watch.bind(bench.credentials))
      const changes = [
        () => bench.store.revokeToken(token),
        () => bench.store.endConnection('laptop', 'removed', { kind: 'account', name: 'alice' }),
        () => bench.store.disconnectApp('alice', 'notes', { kind: 'account', name: 'alice' }),
      ]
      for (const change of changes) {
        const heard = await watch.next(async () => {
          assert.equal(await change(), true)
        })
        assert.ok(
          heard.every((id) => id === grantId || id === undefined),
          `the watch must report ${grantId} or everything; got ${heard.join()}`,
        )
      }
      watch.end()
    },
    ['watch'],
  ),
])

interface ConnectBench extends OpenedConnect {
  readonly now: number
  consentOf(account: string, appId: string, terms?: Partial<Consent>): Consent
  grant(account: string, appId: string, terms?: Partial<Consent>): Promise<string>
  add(account: string, appId: string, id: string): Promise<boolean>
  /** Adds a connection and a token of it. */
  device(
    account: string,
    appId: string,
    id: string,
    token?: Partial<NewConnectToken>,
  ): Promise<NewConnectToken>
  tokenOf(connectionId: string): NewConnectToken
  row(model: NewOauthRow['model'], id: string): NewOauthRow
  resolve(token: string): Promise<CredentialResult>
  app(token: string): Promise<App>
  scopes(token: string): Promise<readonly string[]>
  limits(token: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

function connectCase(
  id: string,
  name: string,
  check: (bench: ConnectBench) => Promise<void>,
  needs: readonly CaseNeed[] = [],
): ConnectCase {
  return {
    id,
    name,
    needs,
    async run(harness) {
      const opened = asOpened<ConnectStore, OpenedConnect>(
        await harness.open(structuredClone([notes, other])),
        'consent',
      )
      try {
        await check(createBench(opened))
      } finally {
        await opened.close?.()
      }
    },
  }
}

function createBench(opened: OpenedConnect): ConnectBench {
  const { store, credentials } = opened
  const now = Date.now()
  const resolve = async (token: string) => credentials.resolve(token, createContext())
  const principalOf = async (token: string) => {
    const result = await resolve(token)
    assert.ok(result.ok && result.principal.kind === 'access-token', 'the token must resolve to an app')
    return result.principal
  }
  const consentOf: ConnectBench['consentOf'] = (account, appId, terms = {}) => ({
    account,
    appId,
    scopes: ['models.run'],
    models: notes.allowedModels,
    markup: notes.markup,
    appName: 'Notes',
    redirectHost: 'notes.example',
    ...terms,
  })
  const tokenOf: ConnectBench['tokenOf'] = (connectionId) => ({
    token: createToken('access-token'),
    connectionId,
    scopes: ['models.run'],
    expiresAt: now + HOUR_MS,
  })
  const add: ConnectBench['add'] = (account, appId, id) =>
    store.addConnection({ id, account, appId, label: id })
  return {
    ...opened,
    now,
    consentOf,
    tokenOf,
    add,
    resolve,
    async grant(account, appId, terms) {
      const answer = await store.consent(consentOf(account, appId, terms))
      assert.ok(answer !== undefined, 'the consent must be stored')
      return answer.connectedAppId
    },
    async device(account, appId, id, more = {}) {
      assert.equal(await add(account, appId, id), true)
      const token = { ...tokenOf(id), ...more }
      assert.equal(await store.saveToken(token), true)
      return token
    },
    row: (model, id) => ({ model, id, payload: { kind: model }, expiresAt: now + HOUR_MS }),
    app: async (token) => (await principalOf(token)).app,
    scopes: async (token) => (await principalOf(token)).scopes,
    limits: async (token) => (await principalOf(token)).limits?.map((limit) => ({ ...limit })) ?? [],
  }
}

function refusalOf(result: CredentialResult): string {
  return result.ok ? 'granted' : result.reason
}

/** Removes the creation time after checking it. */
function withoutTime<Value extends { readonly createdAt: number }>(
  value: Value | undefined,
): Omit<Value, 'createdAt'> | undefined {
  if (value === undefined) return undefined
  const { createdAt, ...rest } = value
  assert.ok(Number.isSafeInteger(createdAt) && createdAt > 0)
  return rest
}
