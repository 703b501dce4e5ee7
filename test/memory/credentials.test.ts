import { hash } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { CallContext, Limit } from '../../src/contracts/index.js'
import { type MemoryCredential, memoryCredentials } from '../../src/memory/index.js'
import { createManualClock } from '../conformance/manual-clock.js'

const context: CallContext = { requestId: 'r', signal: new AbortController().signal }
const alice: MemoryCredential = { kind: 'api-key', account: 'alice' }
const markup = { basisPoints: 2_000, flat: '0.01' }
const app = { id: 'app', markup, allowedModels: ['acme/fast'] }
const access: MemoryCredential = { kind: 'access-token', account: 'bob', app, scopes: ['models.run'] }

describe('memoryCredentials', () => {
  it('names a credential by the first 16 hex digits of the digest of its token', () => {
    const store = memoryCredentials({ 'sk-demo': alice })
    expect(store.resolve('sk-demo', context)).toEqual({
      ok: true,
      principal: { kind: 'api-key', account: 'alice', credentialId: hash('sha256', 'sk-demo').slice(0, 16) },
    })
  })

  it('keeps a given credential id', () => {
    const store = memoryCredentials({ 'sk-demo': { ...alice, credentialId: 'key-1' } })
    expect(store.resolve('sk-demo', context)).toMatchObject({ principal: { credentialId: 'key-1' } })
  })

  it('keeps a frozen copy of the models that a key may use', () => {
    const allowedModels = ['acme/fast']
    const store = memoryCredentials({ 'sk-demo': { ...alice, credentialId: 'key', allowedModels } })
    allowedModels.push('acme/slow')
    const principal = { kind: 'api-key', account: 'alice', credentialId: 'key', allowedModels: ['acme/fast'] }
    const result = store.resolve('sk-demo', context) as unknown as { principal: typeof principal }
    expect(result).toEqual({ ok: true, principal })
    expect(Object.isFrozen(result.principal.allowedModels)).toBe(true)
    expect(() => store.put('sk-other', { ...alice, allowedModels: 'acme/fast' as never })).toThrow(
      'credential.allowedModels',
    )
  })

  it('carries limits, and refuses impossible ones', () => {
    const limit: Limit = { id: 'budget', unit: 'credits', amount: 20n, per: 'month', zone: 'Asia/Tokyo' }
    const store = memoryCredentials({ 'sk-demo': { ...alice, limits: [limit] } })
    expect(store.resolve('sk-demo', context)).toMatchObject({ principal: { limits: [limit] } })
    const refused = (limits: readonly Limit[], message: string) =>
      expect(() => store.put('sk-2', { ...alice, limits })).toThrow(message)
    refused([limit, limit], 'credential.limits must not have an id twice')
    refused([{ ...limit, amount: -1n }], 'credential.limits.0.amount must be from 0n')
    refused([{ ...limit, zone: 'Mars/Base' }], 'credential.limits.0.zone must be the name of a time zone')
    refused([{ ...limit, per: 'hour' }], 'credential.limits.0.zone is only for limits per day, week or month')
  })

  it.each([
    ['model.run', 'models.run'],
    ['Models.Run', 'models.run'],
    ['models:run', 'models.run'],
    ['credits.reads', 'credits.read'],
  ])("refuses the misspelt scope %s, but keeps the host's own scopes", (scope, meant) => {
    expect(() => memoryCredentials({ 'at-1': { ...access, scopes: ['profile', scope] } })).toThrow(
      `scopes.1 is not a scope of the router; did you mean "${meant}"?`,
    )
    memoryCredentials({ 'at-1': { ...access, scopes: ['profile', 'models.list'] } })
  })

  it('works without credentials', () => {
    expect(memoryCredentials().resolve('sk-demo', context)).toEqual({ ok: false, reason: 'unknown' })
  })

  it('refuses a token at the exact millisecond of its expiry', async () => {
    const clock = createManualClock(1_000)
    const store = memoryCredentials({ 'sk-demo': { ...alice, expiresAt: 1_010 } }, { clock })
    clock.advance(9)
    expect(store.resolve('sk-demo', context)).toMatchObject({ ok: true })
    clock.advance(1)
    expect(store.resolve('sk-demo', context)).toMatchObject({ ok: false, reason: 'expired' })
  })

  it('adds and replaces tokens, and reports each change', () => {
    const store = memoryCredentials()
    const heard: unknown[] = []
    store.watch((id) => heard.push(id))
    expect(store.put('sk-demo', { ...alice, credentialId: 'one' })).toBe('one')
    expect(store.put('sk-demo', { ...alice, credentialId: 'two' })).toBe('two')
    expect(store.resolve('sk-demo', context)).toMatchObject({ principal: { credentialId: 'two' } })
    expect(heard).toEqual(['one', 'one', 'two'])
  })

  it('revokes every token with an id, and reports it once', () => {
    const grant = { ...access, credentialId: 'grant' }
    const store = memoryCredentials({ 'at-1': grant, 'at-2': grant, 'sk-demo': alice })
    const heard: unknown[] = []
    store.watch((id) => heard.push(id))
    expect(store.revoke('grant')).toBe(true)
    expect(store.revoke('nobody')).toBe(false)
    expect(store.resolve('at-1', context)).toMatchObject({ ok: false, reason: 'revoked' })
    expect(store.resolve('at-2', context)).toMatchObject({ ok: false, reason: 'revoked' })
    expect(store.resolve('sk-demo', context)).toMatchObject({ ok: true })
    expect(heard).toEqual(['grant'])
  })

  it('suspends an account, tokens added later included, and resumes it', () => {
    const store = memoryCredentials({ 'sk-1': { ...alice, credentialId: 'one' }, 'at-1': access })
    const heard: unknown[] = []
    store.watch((id) => heard.push(id))
    store.suspend('alice')
    store.put('sk-2', { ...alice, credentialId: 'two' })
    expect(store.resolve('sk-1', context)).toMatchObject({ ok: false, reason: 'suspended' })
    expect(store.resolve('sk-2', context)).toMatchObject({ ok: false, reason: 'suspended' })
    expect(store.resolve('at-1', context)).toMatchObject({ ok: true })
    store.resume('alice')
    expect(store.resolve('sk-1', context)).toMatchObject({ ok: true })
    expect(heard).toEqual(['one', 'two', 'one', 'two'])
  })

  it('names the credential that it refuses', () => {
    const clock = createManualClock(1_000)
    const store = memoryCredentials(
      {
        'sk-old': { ...alice, credentialId: 'old', expiresAt: 1_000 },
        'sk-1': { ...alice, credentialId: 'one' },
        'at-1': { ...access, credentialId: 'grant' },
      },
      { clock },
    )
    store.suspend('alice')
    store.revoke('grant')
    const refused = (token: string) => store.resolve(token, context)
    expect(refused('sk-old')).toEqual({
      ok: false,
      reason: 'expired',
      credential: { credentialId: 'old', account: 'alice' },
    })
    expect(refused('sk-1')).toEqual({
      ok: false,
      reason: 'suspended',
      credential: { credentialId: 'one', account: 'alice' },
    })
    expect(refused('at-1')).toEqual({
      ok: false,
      reason: 'revoked',
      credential: { credentialId: 'grant', account: access.account, appId: app.id },
    })
    expect(refused('sk-none')).toEqual({ ok: false, reason: 'unknown' })
  })

  it('calls every listener even if one throws, but none whose watch has ended', () => {
    const store = memoryCredentials({ 'sk-1': { ...alice, credentialId: 'one' } })
    const heard: string[] = []
    const end = store.watch(() => heard.push('ended'))
    store.watch(() => {
      throw new Error('mine')
    })
    store.watch(() => heard.push('last'))
    end()
    expect(() => store.revoke('one')).toThrow('mine')
    expect(heard).toEqual(['last'])
    expect(store.resolve('sk-1', context)).toMatchObject({ ok: false, reason: 'revoked' })
  })

  it('copies credentials and returns them frozen', () => {
    const scopes = ['models.run']
    const given = { ...access, app: { ...app, markup: { ...markup } }, scopes }
    const store = memoryCredentials({ 'at-1': given })
    scopes.push('more')
    given.app.markup.basisPoints = 0
    const result = store.resolve('at-1', context)
    expect(result).toMatchObject({ principal: { scopes: ['models.run'], app: { markup } } })
    expect(result).toBe(store.resolve('at-1', context))
    const { principal } = result as {
      principal: { app: { markup: object; allowedModels: object }; scopes: object }
    }
    const parts = [
      result,
      principal,
      principal.app,
      principal.app.markup,
      principal.app.allowedModels,
      principal.scopes,
    ]
    expect(parts.every(Object.isFrozen)).toBe(true)
  })

  it('holds no token, only digests', () => {
    const store = memoryCredentials({ 'sk-very-secret': alice })
    expect(inspect(store, { depth: 20, showHidden: true })).not.toContain('sk-very-secret')
  })

  it.each<[string, unknown, string]>([
    ['no kind', { account: 'alice' }, 'kind'],
    ['another kind', { kind: 'cookie', account: 'alice' }, 'kind'],
    ['no account', { kind: 'api-key' }, 'account'],
    ['an empty account', { kind: 'api-key', account: '' }, 'account'],
    ['an account with a line break', { kind: 'api-key', account: 'a\nb' }, 'account'],
    ['an access token without app', { ...access, app: undefined }, 'app'],
    ['scopes that are not a list', { ...access, scopes: 'models.run' }, 'scopes'],
    [
      'allowed models that are not strings',
      { ...access, app: { ...app, allowedModels: [1] } },
      'app.allowedModels.0',
    ],
    [
      'a markup out of range',
      { ...access, app: { ...app, markup: { basisPoints: 1_000_001 } } },
      'app.markup.basisPoints',
    ],
    [
      'a markup below zero',
      { ...access, app: { ...app, markup: { basisPoints: -1 } } },
      'app.markup.basisPoints',
    ],
    [
      'a fractional markup',
      { ...access, app: { ...app, markup: { basisPoints: 0.5 } } },
      'app.markup.basisPoints',
    ],
    [
      'a flat markup below zero',
      { ...access, app: { ...app, markup: { basisPoints: 0, flat: '-1' } } },
      'app.markup.flat',
    ],
    ['a misspelt member', { ...alice, acount: 'x' }, 'acount'],
    ['an app on an API key', { ...alice, app }, 'app'],
    ['nothing', null, 'must be an object'],
  ])('refuses %s, names the field, and does not show the token', (_, credential, where) => {
    const add = () => memoryCredentials({ 'sk-very-secret': credential as MemoryCredential })
    expect(add).toThrow(TypeError)
    expect(add).toThrow(where)
    expect(add).not.toThrow('sk-very-secret')
  })

  it.each(['', 'two words', 'naïve', 'x'.repeat(8_193)])(
    'refuses a token that a Bearer header cannot carry: %j',
    (token) => {
      expect(() => memoryCredentials({ [token]: alice })).toThrow('1 to 8,192 visible ASCII characters')
    },
  )
})
