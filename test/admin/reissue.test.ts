import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context } from '../helpers/ledger-requests.js'

describe.each(engineNames)('reissuing a credential on %s', (name) => {
  const engine = useEngine(name)

  it('leaves one valid token after many concurrent calls', async () => {
    const stores = engine.open('at_once')
    const admins = [createAdmin(stores), createAdmin(engine.open('at_once'))]
    const { credentialId, token } = await admins[0]!.keys.issue({ account: 'alice' })
    for (let round = 0; round < 5; round++) {
      const issued = await Promise.all(
        Array.from({ length: 12 }, (_, index) => admins[index % 2]!.keys.reissue(credentialId)),
      )
      const tokens = [token, ...issued.map((one) => one.token)]
      const found = await Promise.all(tokens.map((one) => stores.credentials.resolve(one, context)))
      expect(found.filter(({ ok }) => ok)).toHaveLength(1)
      expect(await admins[0]!.keys.list({ credentialId })).toHaveLength(1)
    }
  })

  it('succeeds once among many concurrent calls with the same `was`', async () => {
    const stores = engine.open('was')
    const admins = [createAdmin(stores), createAdmin(engine.open('was'))]
    const { credentialId } = await admins[0]!.keys.issue({ account: 'alice' })
    for (let round = 0; round < 5; round++) {
      const [was] = await admins[0]!.keys.list({ credentialId })
      const ends = await Promise.allSettled(
        Array.from({ length: 12 }, (_, index) =>
          admins[index % 2]!.keys.reissue(credentialId, { was: was! }),
        ),
      )
      const [made, ...more] = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value.token] : []))
      expect(more).toEqual([])
      expect(await stores.credentials.resolve(made!, context)).toMatchObject({ ok: true })
      for (const end of ends) {
        if (end.status === 'fulfilled') continue
        expect(end.reason).toMatchObject({ name: 'Refusal', reason: 'conflict' })
      }
    }
  })

  it('keeps the end of the previous token, unless it is given another one or none', async () => {
    const stores = engine.open('ends')
    const admin = createAdmin(stores)
    const end = Date.now() + 3_600_000
    const { credentialId } = await admin.keys.issue({ account: 'alice', expiresAt: end })
    const ends: (number | undefined)[] = []
    for (const options of [{}, { expiresAt: end + 1 }, {}, { expiresAt: null }, {}]) {
      await admin.keys.reissue(credentialId, options)
      ends.push((await admin.keys.list({ credentialId }))[0]!.expiresAt)
    }
    expect(ends).toEqual([end, end + 1, end + 1, undefined, undefined])

    await admin.keys.reissue(credentialId, { expiresAt: Date.now() - 1 })
    await expect(admin.keys.reissue(credentialId)).rejects.toMatchObject({
      reason: 'conflict',
      field: 'expiresAt',
      message: expect.stringContaining('the previous token has expired'),
    })
    await admin.keys.reissue(credentialId, { expiresAt: null })
    expect((await admin.keys.list({ credentialId }))[0]!.expiresAt).toBeUndefined()
  })

  it('lets the previous token work until a time, but no longer than its own end', async () => {
    const stores = engine.open('overlap')
    const admin = createAdmin(stores)
    const until = Date.now() + 3_600_000
    const first = await admin.keys.issue({ account: 'alice' })
    const { credentialId } = first
    const second = await admin.keys.reissue(credentialId, {
      previousExpiresAt: until,
      expiresAt: until - 60_000,
    })
    const found = async (token: string) => {
      const result = await stores.credentials.resolve(token, context)
      return result.ok ? (result.principal.expiresAt ?? 'never') : result.reason
    }
    expect(await found(first.token)).toBe(until)
    expect(await found(second.token)).toBe(until - 60_000)
    expect(await admin.keys.list({ credentialId })).toMatchObject([
      { previousExpiresAt: until, lastFour: second.token.slice(-4) },
    ])

    const third = await admin.keys.reissue(credentialId, { previousExpiresAt: until + 1, expiresAt: null })
    expect(await Promise.all([first, second, third].map(({ token }) => found(token)))).toEqual([
      until,
      until - 60_000,
      'never',
    ])
    expect(await admin.keys.list({ credentialId })).toMatchObject([{ previousExpiresAt: until }])

    const [was] = await admin.keys.list({ credentialId })
    const stale = { ...was!, lastFour: '0000' }
    await expect(admin.keys.reissue(credentialId, { was: stale })).rejects.toMatchObject({
      reason: 'conflict',
    })
    expect(await found(first.token)).toBe(until)

    // As if the first token's time had passed since the row was read, and the key had been used.
    const { previousExpiresAt: _, ...read } = was!
    const fourth = await admin.keys.reissue(credentialId, { was: { ...read, lastUsedAt: 1 } })
    expect(await Promise.all([first, second, third, fourth].map(({ token }) => found(token)))).toEqual([
      'revoked',
      'revoked',
      'revoked',
      'never',
    ])
    expect((await admin.keys.list({ credentialId }))[0]).not.toHaveProperty('previousExpiresAt')
  })

  it('refuses the previous token once its time has passed, and each token of a revoked key', async () => {
    const stores = engine.open('passed')
    const admin = createAdmin(stores)
    const first = await admin.keys.issue({ account: 'alice' })
    const { credentialId } = first
    const until = Date.now() + 3_600_000
    const second = await admin.keys.reissue(credentialId, { previousExpiresAt: until })
    const refusal = async (token: string) => {
      const result = await stores.credentials.resolve(token, context)
      return result.ok ? undefined : result.reason
    }
    await stores.database.all({
      text: 'update {tokens} set revoked_at = revoked_at - 3600000 where revoked_at is not null',
    })
    expect(await refusal(first.token)).toBe('revoked')
    expect(await refusal(second.token)).toBeUndefined()

    const third = await admin.keys.reissue(credentialId, { previousExpiresAt: until })
    await admin.keys.revoke(credentialId)
    expect(await Promise.all([second, third].map(({ token }) => refusal(token)))).toEqual([
      'revoked',
      'revoked',
    ])
    expect((await admin.keys.list({ credentialId }))[0]).not.toHaveProperty('previousExpiresAt')
  })

  it('issues no token if the credential is revoked concurrently', async () => {
    const stores = engine.open('revoked')
    const admin = createAdmin(stores)
    const { all } = stores.database
    const { credentialId, token } = await admin.keys.issue({ account: 'alice' })
    // Revokes between the read and the write of reissue.
    stores.database.all = async (statement) => {
      const rows = await all(statement)
      stores.database.all = all
      await admin.keys.revoke(credentialId)
      return rows
    }
    await expect(admin.keys.reissue(credentialId)).rejects.toMatchObject({
      name: 'Refusal',
      reason: 'conflict',
    })
    expect(await admin.keys.list({ credentialId })).toMatchObject([{ lastFour: token.slice(-4) }])
  })
})
