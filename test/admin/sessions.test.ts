import { describe, expect, it } from 'vitest'
import { createAdmin, type SessionRequest } from '../../src/admin/index.js'
import { parseCredits } from '../../src/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'

const CONTEXT = { requestId: 'one', signal: new AbortController().signal }
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const PAGE = 'https://app.example'
const REQUEST: SessionRequest = { account: 'alice', origins: [PAGE] }
const MARKUP = { basisPoints: 2_000 }

/** Writes to a table past the store, as time would. */
async function write({ database }: DurableStores, text: string, ...parameters: string[]): Promise<void> {
  await database.batch([{ text, parameters }])
}

async function connectNotes(stores: DurableStores, more: { endsAt?: number; models?: string[] } = {}) {
  await createAdmin(stores).apps.put({
    id: 'notes',
    name: 'Notes',
    markup: MARKUP,
    allowedModels: ['acme/fast', 'acme/smart'],
    account: 'notes-earnings',
  })
  const { models = ['acme/fast', 'acme/smart'], ...rest } = more
  const grant = await stores.connect.consent({
    account: 'alice',
    appId: 'notes',
    scopes: ['models.run'],
    models,
    markup: MARKUP,
    cap: { amount: parseCredits('5'), per: 'month' },
    appName: 'Notes',
    redirectHost: 'notes.example',
    ...rest,
  })
  return grant!.connectedAppId
}

describe.each(engineNames)('sessions on %s', (name) => {
  const engine = useEngine(name)
  let count = 0
  const open = () => {
    const stores = engine.open(`sessions${count++}`)
    const resolve = async (token: string) => stores.credentials.resolve(token, CONTEXT)
    return { stores, admin: createAdmin(stores), resolve }
  }

  it('issue a token that is valid for 15 minutes, for pages of its origins', async () => {
    const { admin, resolve } = open()
    const before = Date.now()
    const { credentialId, expiresAt, token, ttlMs } = await admin.sessions.issue({
      ...REQUEST,
      label: 'login-1',
    })
    expect(token).toMatch(/^at-cr-/)
    expect(ttlMs).toBe(15 * MINUTE_MS)
    expect(expiresAt - before).toBeGreaterThan(14 * MINUTE_MS)
    expect(await resolve(token)).toEqual({
      ok: true,
      principal: {
        kind: 'api-key',
        credentialId,
        account: 'alice',
        expiresAt,
        label: 'login-1',
        origins: [PAGE],
      },
    })
    expect(await admin.keys.list({ credentialId })).toMatchObject([{ source: 'session', account: 'alice' }])
    expect(await admin.keys.list({ account: 'alice' })).toEqual([])
  })

  it('keep their id, models and budget when refreshed, and earlier tokens stay valid', async () => {
    const { admin, resolve } = open()
    const first = await admin.sessions.issue({ ...REQUEST, models: ['acme/fast'], budget: { amount: '2' } })
    const second = await admin.sessions.refresh(first.credentialId)
    expect(second.token).not.toBe(first.token)
    expect(second.credentialId).toBe(first.credentialId)
    const found = [await resolve(first.token), await resolve(second.token)]
    for (const result of found) {
      expect(result).toMatchObject({
        ok: true,
        principal: {
          credentialId: first.credentialId,
          allowedModels: ['acme/fast'],
          limits: [
            {
              id: `session-${first.credentialId}`,
              unit: 'credits',
              amount: parseCredits('2'),
              per: 'total',
              of: 'credential',
            },
          ],
        },
      })
    }
  })

  it('end after 12 hours at the latest, and no token outlives them', async () => {
    const { admin, resolve, stores } = open()
    const soon = await admin.sessions.issue({ ...REQUEST, endsAt: Date.now() + 5 * MINUTE_MS })
    expect(soon.ttlMs).toBeLessThanOrEqual(5 * MINUTE_MS + 1_000)
    const long = await admin.sessions.issue({
      ...REQUEST,
      endsAt: Date.now() + 48 * HOUR_MS,
      ttlMs: 12 * HOUR_MS,
    })
    expect(long.expiresAt - Date.now()).toBeLessThanOrEqual(12 * HOUR_MS + 1_000)
    await write(stores, 'update {credentials} set ends_at = 1 where id = ?1', long.credentialId)
    expect(await resolve(long.token)).toMatchObject({ ok: false, reason: 'expired' })
    await expect(admin.sessions.refresh(long.credentialId)).rejects.toThrow('has ended')
  })

  it('copy the terms on which the user connected the app and keep them', async () => {
    const { admin, resolve, stores } = open()
    await connectNotes(stores)
    const session = await admin.sessions.issue({
      ...REQUEST,
      app: 'notes',
      models: ['acme/fast', 'acme/other'],
    })
    const found = await resolve(session.token)
    expect(found).toMatchObject({
      ok: true,
      principal: {
        kind: 'access-token',
        scopes: ['models.run'],
        origins: [PAGE],
        app: { id: 'notes', markup: MARKUP, allowedModels: ['acme/fast'], account: 'notes-earnings' },
        limits: [{ unit: 'credits', amount: parseCredits('5'), per: 'month' }],
      },
    })
    // The app raises its markup: the old terms go on until the user consents.
    await admin.apps.put({ id: 'notes', markup: { basisPoints: 9_000 }, allowedModels: ['acme/fast'] })
    expect(await resolve(session.token)).toMatchObject({ principal: { app: { markup: MARKUP } } })
    await connectNotes(stores, { models: [] })
    expect(await resolve(session.token)).toMatchObject({ principal: { app: { allowedModels: [] } } })
  })

  it('end when the user disconnects the app', async () => {
    const { admin, resolve, stores } = open()
    const grantEnd = Date.now() + 3 * MINUTE_MS
    await connectNotes(stores, { endsAt: grantEnd })
    const session = await admin.sessions.issue({ ...REQUEST, app: 'notes' })
    expect(session.expiresAt).toBe(grantEnd)
    await stores.connect.disconnectApp('alice', 'notes', { kind: 'account', name: 'alice' })
    expect(await resolve(session.token)).toMatchObject({ ok: false, reason: 'revoked' })
    await expect(admin.sessions.refresh(session.credentialId)).rejects.toMatchObject({
      name: 'Refusal',
      message: expect.stringContaining('is revoked'),
    })
  })

  it('stay ended after the app was disconnected, even if the user consents again', async () => {
    const { admin, resolve, stores } = open()
    await connectNotes(stores)
    const session = await admin.sessions.issue({ ...REQUEST, app: 'notes' })
    await connectNotes(stores, { endsAt: Date.now() - 1_000 })
    expect(await resolve(session.token)).toMatchObject({ ok: false, reason: 'expired' })
    await connectNotes(stores)
    expect(await resolve(session.token)).toMatchObject({ ok: false, reason: 'revoked' })
    await expect(admin.sessions.refresh(session.credentialId)).rejects.toThrow('is revoked')
    const { credentialId } = await admin.sessions.resume({ ...REQUEST, app: 'notes' })
    expect(credentialId).not.toBe(session.credentialId)
  })

  it('need a connected app if they belong to an app', async () => {
    const { admin, stores } = open()
    const app = { ...REQUEST, app: 'notes' }
    const none = {
      name: 'Refusal',
      reason: 'not-found',
      message: expect.stringContaining('has not connected the app'),
    }
    await expect(admin.sessions.issue(app)).rejects.toMatchObject(none)
    const grant = await connectNotes(stores)
    await expect(admin.sessions.issue({ ...app, account: 'bob' })).rejects.toMatchObject(none)
    await write(stores, 'update {credentials} set ends_at = 1 where id = ?1', grant)
    await expect(admin.sessions.issue(app)).rejects.toMatchObject(none)
    await expect(admin.sessions.resume(app)).rejects.toMatchObject(none)
  })

  it('are resumed only by the same label and terms', async () => {
    const { admin, stores } = open()
    const request: SessionRequest = {
      ...REQUEST,
      label: 'login-1',
      models: ['acme/fast'],
      budget: { amount: '1', per: 'day', zone: 'Europe/Berlin' },
    }
    const { credentialId } = await admin.sessions.resume(request)
    const limits = await admin.limits.list({ of: 'credential', ownerId: credentialId })
    expect(limits).toMatchObject([{ amount: parseCredits('1'), per: 'day', zone: 'Europe/Berlin' }])
    expect((await admin.sessions.resume(request)).credentialId).toBe(credentialId)
    for (const other of [
      { account: 'bob' },
      { label: 'login-2' },
      { label: undefined },
      { models: ['acme/fast', 'acme/smart'] },
      { models: undefined },
      { origins: [PAGE, 'http://localhost:5173'] },
    ] as Partial<SessionRequest>[]) {
      const { label, models, ...rest } = { ...request, ...other }
      const resumed = await admin.sessions.resume({
        ...rest,
        ...(label && { label }),
        ...(models && { models }),
      })
      expect(resumed.credentialId).not.toBe(credentialId)
    }
    expect((await admin.sessions.resume(request)).credentialId).toBe(credentialId)
    await write(stores, 'update {credentials} set ends_at = 1 where id = ?1', credentialId)
    expect((await admin.sessions.resume(request)).credentialId).not.toBe(credentialId)
  })

  it('are a single session for pages that start at once in several processes', async () => {
    const { stores } = open()
    const other = engine.open(`sessions${count - 1}`)
    const admins = [createAdmin(stores), createAdmin(other)]
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        admins[index % 2]!.sessions.resume({ ...REQUEST, budget: { amount: '1' } }),
      ),
    )
    expect(new Set(started.map(({ credentialId }) => credentialId)).size).toBe(1)
    expect(new Set(started.map(({ token }) => token)).size).toBe(20)
  })

  it('have at most 60 valid tokens each', async () => {
    const { admin, stores } = open()
    const { credentialId } = await admin.sessions.issue(REQUEST)
    for (let tokens = 1; tokens < 60; tokens++) await admin.sessions.refresh(credentialId)
    await expect(admin.sessions.refresh(credentialId)).rejects.toThrow('60 live tokens')
    await expect(admin.sessions.resume(REQUEST)).rejects.toThrow('60 live tokens')
    await write(stores, 'update {tokens} set expires_at = 1 where credential_id = ?1', credentialId)
    await admin.sessions.refresh(credentialId)
    const [row] = await stores.database.all({
      text: 'select count(*) as tokens from {tokens} where credential_id = ?1',
      parameters: [credentialId],
    })
    expect(Number(row!.tokens)).toBe(1)
  })

  it('are revoked together at logout, or by their label', async () => {
    const { admin, resolve } = open()
    const one = await admin.sessions.issue({ ...REQUEST, label: 'login-1' })
    const two = await admin.sessions.issue({ ...REQUEST, label: 'login-2' })
    const others = await admin.sessions.issue({ ...REQUEST, account: 'bob' })
    const key = await admin.keys.issue({ account: 'alice' })
    expect(await admin.sessions.revoke({ account: 'alice', label: 'login-1' })).toBe(1)
    expect(await resolve(one.token)).toMatchObject({ ok: false, reason: 'revoked' })
    await expect(admin.sessions.refresh(one.credentialId)).rejects.toThrow('is revoked')
    expect(await resolve(two.token)).toMatchObject({ ok: true })
    expect(await admin.sessions.revoke({ account: 'alice' })).toBe(1)
    expect(await admin.sessions.revoke({ account: 'alice' })).toBe(0)
    expect(await resolve(two.token)).toMatchObject({ ok: false, reason: 'revoked' })
    expect([await resolve(others.token), await resolve(key.token)]).toMatchObject([
      { ok: true },
      { ok: true },
    ])
  })

  it('are revoked in every process within a second', async () => {
    const { admin } = open()
    const { credentialId } = await admin.sessions.issue(REQUEST)
    const other = engine.open(`sessions${count - 1}`)
    await other.ready()
    const seen = new Set<string | undefined>()
    await new Promise<void>((resolve) =>
      other.credentials.watch!(
        (id) => seen.add(id),
        (connected) => {
          if (connected) resolve()
        },
      ),
    )
    await admin.sessions.revoke({ account: 'alice' })
    await expect.poll(() => [...seen]).toContain(credentialId)
  })

  it('are deleted 30 days after their end, when the account starts another session', async () => {
    const { admin, stores } = open()
    const old = await admin.sessions.issue({ ...REQUEST, budget: { amount: '1' } })
    const recent = await admin.sessions.issue(REQUEST)
    const key = await admin.keys.issue({ account: 'alice' })
    const day = 24 * HOUR_MS
    await write(stores, 'update {credentials} set ends_at = 1 where id = ?1', old.credentialId)
    await write(
      stores,
      `update {credentials} set ends_at = ${Date.now() - 29 * day} where id = ?1`,
      recent.credentialId,
    )
    await admin.sessions.issue(REQUEST)
    const credentialIds = [old, recent, key].map(({ credentialId }) => credentialId)
    const left = await admin.keys.list({ credentialIds })
    expect(left.map(({ credentialId }) => credentialId).sort()).toEqual(credentialIds.slice(1).sort())
    expect(await admin.limits.list({ ownerId: old.credentialId })).toEqual([])
  })

  it.each([
    [{ account: '' }, 'session.account'],
    [{ origins: undefined }, 'session.origins'],
    [{ origins: ['*'] }, 'session.origins.0'],
    [{ origins: ['http://app.example'] }, 'session.origins.0'],
    [{ origins: ['https://app.example/'] }, 'session.origins.0'],
    [{ origins: ['https://APP.example'] }, 'session.origins.0'],
    [{ origins: ['https://app.example:443'] }, 'session.origins.0'],
    [{ origins: ['null'] }, 'session.origins.0'],
    [{ ttlMs: 999 }, 'session.ttlMs'],
    [{ ttlMs: 12 * HOUR_MS + 1 }, 'session.ttlMs'],
    [{ endsAt: 1_700_000_000 }, 'session.endsAt'],
    [{ budget: { amount: 'all' } }, 'session.budget.amount'],
    [{ budget: { amount: '1', per: 'fortnight' } }, 'session.budget.per'],
    [{ budget: 5 }, 'session.budget'],
    [{ budget: undefined }, 'session.budget: is undefined'],
    [{ models: undefined }, 'session.models: is undefined'],
    [{ budget: { amount: '1', zone: 'UTC' } }, 'session.budget.zone'],
    [{ scopes: [] }, 'scopes'],
  ])('are refused with the options %o', async (wrong, says) => {
    const { admin } = open()
    await expect(admin.sessions.issue({ ...REQUEST, ...wrong } as never)).rejects.toThrow(says)
  })

  it('cannot be refreshed if the session does not exist', async () => {
    const { admin } = open()
    const { credentialId } = await admin.keys.issue({ account: 'alice' })
    for (const id of [credentialId, 'nobody'])
      await expect(admin.sessions.refresh(id)).rejects.toMatchObject({ name: 'Refusal', reason: 'not-found' })
  })
})
