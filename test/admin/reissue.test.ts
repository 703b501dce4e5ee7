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
