import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { createSqlCredentials } from '../../src/sql/credentials.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { hear } from '../helpers/hear.js'
import { context } from '../helpers/ledger-requests.js'

const app = {
  id: 'writer',
  name: 'Writer',
  markup: { basisPoints: 2_000, flat: '0.001' },
  allowedModels: ['acme/fast'],
  account: 'writer-inc',
}

describe.each(engineNames)('the credential store in %s', (name) => {
  const engine = useEngine(name)

  it('resolves a key to its account, and no other token', async () => {
    const stores = engine.open('keys')
    const admin = createAdmin(stores)
    const { token, credentialId } = await admin.keys.issue({
      account: 'alice',
      metadata: { plan: 'pro' },
    })
    expect(await stores.credentials.resolve(token, context)).toEqual({
      ok: true,
      principal: { kind: 'api-key', credentialId, account: 'alice', metadata: { plan: 'pro' } },
    })
    for (const other of [`${token}x`, token.slice(1), 'constructor', '__proto__', '']) {
      expect(await stores.credentials.resolve(other, context)).toEqual({ ok: false, reason: 'unknown' })
    }
  })

  it.each([[['acme/fast', 'acme/slow:free']], [[]]])(
    'resolves a key to the models that it may use, %j, even after it is reissued',
    async (allowedModels) => {
      const stores = engine.open('models')
      const admin = createAdmin(stores)
      const { token, credentialId } = await admin.keys.issue({ account: 'alice', allowedModels })
      const found = {
        ok: true,
        principal: { kind: 'api-key', credentialId, account: 'alice', allowedModels },
      }
      expect(await stores.credentials.resolve(token, context)).toEqual(found)
      const [was] = await admin.keys.list({ credentialId })
      expect(was!.allowedModels).toEqual(allowedModels)
      const again = await admin.keys.reissue(credentialId, { was: was! })
      expect(await stores.credentials.resolve(again.token, context)).toEqual(found)
    },
  )

  it('stores a digest, the prefix and the last four characters of a token, never the token', async () => {
    const stores = engine.open('digests')
    const admin = createAdmin(stores)
    const { token } = await admin.keys.issue({ account: 'alice', label: 'laptop' })
    for (const table of ['tokens', 'credentials']) {
      const rows = await stores.database.all({ text: `select * from {${table}}` })
      expect(rows.length).toBe(1)
      expect(
        JSON.stringify(rows, (_, cell) => (typeof cell === 'bigint' ? String(cell) : cell)),
      ).not.toContain(token.slice(12, -4))
    }
    const [listed] = await admin.keys.list({ account: 'alice' })
    expect(listed).toMatchObject({ label: 'laptop', prefix: token.slice(0, 10), lastFour: token.slice(-4) })
  })

  it('resolves an access token to its app, scopes and connected app', async () => {
    const stores = engine.open('access')
    const admin = createAdmin(stores)
    await admin.apps.put(app)
    const expiresAt = Date.now() + 60_000
    const issued = await admin.keys.issueToken({
      account: 'bob',
      appId: 'writer',
      scopes: ['models.run', 'profile'],
      expiresAt,
    })
    expect(await stores.credentials.resolve(issued.token, context)).toEqual({
      ok: true,
      principal: {
        kind: 'access-token',
        credentialId: issued.credentialId,
        account: 'bob',
        expiresAt,
        app,
        scopes: ['models.run', 'profile'],
      },
    })
    await expect(admin.keys.issueToken({ account: 'bob', appId: 'nobody', scopes: [] })).rejects.toThrow(
      'There is no app "nobody"',
    )
    await expect(
      admin.keys.issueToken({ account: 'bob', appId: 'writer', scopes: ['model.run'] }),
    ).rejects.toThrow('scopes.0: is not a scope of the router; did you mean "models.run"?')
  })

  it('reissues a key under the same id and ends its earlier token', async () => {
    const stores = engine.open('reissue')
    const admin = createAdmin(stores)
    const first = await admin.keys.issue({ account: 'alice' })
    const second = await admin.keys.reissue(first.credentialId)
    expect(second.credentialId).toBe(first.credentialId)
    expect(await stores.credentials.resolve(first.token, context)).toMatchObject({
      ok: false,
      reason: 'revoked',
    })
    expect(await stores.credentials.resolve(second.token, context)).toMatchObject({
      principal: { credentialId: first.credentialId },
    })
    await admin.keys.revoke(first.credentialId)
    await expect(admin.keys.reissue(first.credentialId)).rejects.toThrow('is revoked')
    await expect(admin.keys.reissue('nobody')).rejects.toThrow('There is no credential "nobody"')
  })

  it('gives a new token of a credential its own expiry and fewer scopes, never more', async () => {
    const stores = engine.open('narrowed')
    const admin = createAdmin(stores)
    await admin.apps.put(app)
    const { credentialId } = await admin.keys.issueToken({
      account: 'bob',
      appId: 'writer',
      scopes: ['models.run', 'profile'],
      expiresAt: Date.now() - 1,
    })
    const narrow = await admin.keys.reissue(credentialId, { scopes: ['profile'], expiresAt: null })
    const found = await stores.credentials.resolve(narrow.token, context)
    expect(found).toMatchObject({ ok: true, principal: { credentialId, scopes: ['profile'] } })
    expect(await admin.keys.list({ credentialId })).toMatchObject([{ scopes: ['profile'] }])
    expect(found.ok && 'expiresAt' in found.principal).toBe(false)
    await expect(admin.keys.reissue(credentialId, { scopes: ['models'] })).rejects.toThrow(
      'has no scope "models"',
    )
  })

  it('refuses an expired, revoked or suspended credential', async () => {
    const stores = engine.open('refusals')
    const admin = createAdmin(stores)
    await admin.apps.put(app)
    await admin.accounts.open('alice')
    const reasonOf = async (token: string) => {
      const result = await stores.credentials.resolve(token, context)
      return result.ok ? 'ok' : result.reason
    }
    const expired = await admin.keys.issue({ account: 'alice', expiresAt: Date.now() - 1_000 })
    expect(await reasonOf(expired.token)).toBe('expired')
    const key = await admin.keys.issue({ account: 'alice' })
    const access = await admin.keys.issueToken({ account: 'bob', appId: 'writer', scopes: [] })
    expect(await admin.accounts.suspend('alice')).toBe(true)
    expect(await reasonOf(key.token)).toBe('suspended')
    expect(await admin.accounts.resume('alice')).toBe(true)
    expect(await reasonOf(key.token)).toBe('ok')
    expect(await admin.apps.suspend('writer')).toBe(true)
    expect(await reasonOf(access.token)).toBe('suspended')
    expect(await admin.apps.resume('writer')).toBe(true)
    expect(await reasonOf(access.token)).toBe('ok')
    expect(await admin.keys.revoke(key.credentialId)).toBe(true)
    expect(await reasonOf(key.token)).toBe('revoked')
    expect(await admin.keys.revoke('nobody')).toBe(false)
    expect(await admin.accounts.suspend('nobody')).toBe(false)
  })

  it('refuses a token from the millisecond of its expiry, and lists it as in use until then', async () => {
    const stores = engine.open('moment')
    const expiresAt = Date.now() + 60_000
    const { token } = await createAdmin(stores).keys.issue({ account: 'alice', expiresAt })
    for (const [now, isGood] of [
      [expiresAt - 1, true],
      [expiresAt, false],
    ] as const) {
      const database = { ...stores.database, now: `cast(${now} as bigint)` }
      expect(await createSqlCredentials(database, false).resolve(token, context)).toMatchObject(
        isGood ? { ok: true } : { ok: false, reason: 'expired' },
      )
      expect(await createAdmin({ ...stores, database }).keys.list({ inUse: true })).toHaveLength(
        isGood ? 1 : 0,
      )
    }
  })

  it('reports the owner of a refused credential', async () => {
    const stores = engine.open('refused')
    const admin = createAdmin(stores)
    await admin.apps.put(app)
    const resolve = async (token: string) => stores.credentials.resolve(token, context)
    const expired = await admin.keys.issue({ account: 'alice', expiresAt: Date.now() - 1_000 })
    const key = await admin.keys.issue({ account: 'alice' })
    const access = await admin.keys.issueToken({ account: 'bob', appId: 'writer', scopes: [] })
    await admin.accounts.open('alice')
    await admin.accounts.suspend('alice')
    await admin.keys.revoke(access.credentialId)
    expect(await resolve(expired.token)).toEqual({
      ok: false,
      reason: 'expired',
      credential: { credentialId: expired.credentialId, account: 'alice' },
    })
    expect(await resolve(key.token)).toEqual({
      ok: false,
      reason: 'suspended',
      credential: { credentialId: key.credentialId, account: 'alice' },
    })
    expect(await resolve(access.token)).toEqual({
      ok: false,
      reason: 'revoked',
      credential: { credentialId: access.credentialId, account: 'bob', appId: 'writer' },
    })
  })

  it('reports a revocation to another process quickly', async () => {
    const here = engine.open('watched')
    const there = engine.open('watched')
    const admin = createAdmin(here)
    const { credentialId } = await admin.keys.issue({ account: 'alice' })
    const heard = await hear(there.credentials.watch!)
    const revokedAt = performance.now()
    await admin.keys.revoke(credentialId)
    expect(await heard.next()).toBe(credentialId)
    // It takes a quarter of a second if nothing else runs.
    expect(performance.now() - revokedAt).toBeLessThan(5_000)
    await admin.apps.put(app)
    expect(await heard.next()).toBeUndefined()
    heard.end()
  })

  it('reports the changed credential, or all if an account or an app changed', async () => {
    const stores = engine.open('told')
    const admin = createAdmin(stores)
    await admin.apps.put(app)
    const { credentialId } = await admin.keys.issue({ account: 'alice' })
    await admin.accounts.open('alice')
    const heard = await hear(stores.credentials.watch!)
    for (const change of [
      () => admin.accounts.suspend('alice'),
      () => admin.accounts.resume('alice'),
      () => admin.apps.put(app),
      () => admin.apps.suspend('writer'),
      () => admin.apps.resume('writer'),
    ]) {
      await change()
      expect(await heard.next()).toBeUndefined()
    }
    for (const change of [() => admin.keys.reissue(credentialId), () => admin.keys.revoke(credentialId)]) {
      await change()
      expect(await heard.next()).toBe(credentialId)
    }
    heard.end()
  })

  it('keeps the times of the first suspension and the first revocation', async () => {
    const stores = engine.open('first')
    const admin = createAdmin(stores)
    await admin.apps.put(app)
    await admin.accounts.open('alice')
    const { credentialId } = await admin.keys.issue({ account: 'alice' })
    const end = async () => {
      await admin.accounts.suspend('alice')
      await admin.apps.suspend('writer')
      await admin.keys.revoke(credentialId)
    }
    await end()
    for (const [table, column] of [
      ['accounts', 'suspended_at'],
      ['apps', 'suspended_at'],
      ['credentials', 'revoked_at'],
    ]) {
      await stores.database.all({ text: `update {${table}} set ${column} = 1` })
    }
    await end()
    expect(await admin.accounts.find('alice')).toMatchObject({ suspendedAt: 1 })
    expect(await admin.apps.list()).toMatchObject([{ suspendedAt: 1 }])
    expect(await admin.keys.list()).toMatchObject([{ revokedAt: 1 }])
  })

  it('explains an invalid request without showing its values', async () => {
    const admin = createAdmin(engine.open('bad'))
    await expect(admin.keys.issue({ account: '' })).rejects.toThrow('key.account: must be 1 to 256 bytes')
    await expect(admin.keys.issue({ account: 'a\u0000b' })).rejects.toThrow('key.account')
    await expect(admin.keys.issue({ account: 'a', expiresAt: 1.5 })).rejects.toThrow('key.expiresAt')
    await expect(admin.apps.put({ ...app, markup: { basisPoints: 1_000_001 } })).rejects.toThrow(
      'app.markup.basisPoints',
    )
    await expect(admin.apps.put({ ...app, markup: { basisPoints: 1, flat: '-1' } })).rejects.toThrow(
      'app.markup.flat',
    )
  })
})
