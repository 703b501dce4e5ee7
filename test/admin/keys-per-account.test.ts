import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'

describe.each(engineNames)('keys of an account on %s', (name) => {
  const engine = useEngine(name)

  it('are limited to 100, even if several processes issue keys at once', async () => {
    const admins = [engine.open('flood'), engine.open('flood')].map((stores) => createAdmin(stores))
    const issued = await Promise.allSettled(
      Array.from({ length: 800 }, (_, number) => admins[number % 2]!.keys.issue({ account: 'alice' })),
    )
    expect(issued.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    const refused = issued.find(({ status }) => status === 'rejected')
    expect(refused).toMatchObject({
      reason: { name: 'Refusal', reason: 'conflict', message: expect.stringContaining('100 keys') },
    })
    expect(await admins[0]!.keys.list({ account: 'alice' })).toHaveLength(100)
    await expect(admins[0]!.keys.issue({ account: 'bob' })).resolves.toMatchObject({})
  })

  it('count access tokens, but nothing revoked or expired', async () => {
    const admin = createAdmin(engine.open('counted'), { keysPerAccount: 2 })
    await admin.apps.put({ id: 'notes', name: 'Notes', markup: { basisPoints: 0 }, allowedModels: [] })
    const token = () => admin.keys.issueToken({ account: 'alice', appId: 'notes', scopes: [] })
    const first = await admin.keys.issue({ account: 'alice' })
    await admin.keys.issue({ account: 'alice', expiresAt: Date.now() - 1 })
    await token()
    await expect(token()).rejects.toThrow('has 2 keys and tokens in use, the most that are allowed')
    await expect(admin.keys.issue({ account: 'alice' })).rejects.toThrow('the most that are allowed')
    await admin.keys.reissue(first.credentialId)
    await admin.keys.revoke(first.credentialId)
    await token()
    await expect(token()).rejects.toThrow('the most that are allowed')
  })

  it.each([0, 1.5, Number.NaN])('cannot be limited to %s', (keysPerAccount) => {
    expect(() => createAdmin(engine.open('bounds'), { keysPerAccount })).toThrow(
      /^createAdmin: keysPerAccount must be (?:at least 1|a whole number); got (?:0|1\.5|NaN)$/,
    )
  })
})
