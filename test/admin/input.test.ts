import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { formatCredits, MAX_CREDITS } from '../../src/base/money.js'
import { engineNames, useEngine } from '../helpers/engines.js'

describe.each(engineNames)('the input of an admin function on %s', (name) => {
  const engine = useEngine(name)
  let admin: Admin
  beforeAll(async () => {
    admin = createAdmin(engine.open('input'))
    await admin.openAccount('alice')
  })

  it.each([
    ['a boolean', true],
    ['an object', { $ne: '' }],
    ['an array', ['alice']],
    ['a symbol', Symbol('alice')],
    ['text with a null character', 'alice\u0000'],
    ['text with a lone surrogate', 'alice\ud800'],
  ])('is refused with a TypeError if a name is %s', async (_, value) => {
    const account = value as unknown as string
    for (const asking of [
      () => admin.listCredentials({ account }),
      () => admin.entries({ account }),
      () => admin.listCalls({ account }),
      () => admin.getCall(account),
      () => admin.getCall('id', { account }),
      () => admin.openHolds({ account }),
      () => admin.listRoutes({ model: account }),
      () => admin.listModels({ modelIds: [account] }),
      () => admin.listApps({ appIds: [account] }),
    ]) {
      await expect(asking()).rejects.toThrow(TypeError)
    }
    expect(await admin.findAccount('alice')).toMatchObject({ id: 'alice' })
  })

  it('matches no rows if it is longer than any name', async () => {
    const long = 'x'.repeat(10_000)
    for (const looking of [
      admin.revoke(long),
      admin.removeModel(long),
      admin.removeRoute(long),
      admin.suspendApp(long),
      admin.suspendAccount(long),
    ]) {
      expect(await looking).toBe(false)
    }
  })

  it('is refused if a number of rows or a page is invalid', async () => {
    for (const limit of [-1, 0, 1.5, 1e21]) {
      for (const asking of [
        admin.openHolds({ limit }),
        admin.listAccounts({ limit }),
        admin.spendReport({ by: 'model', limit }),
      ]) {
        await expect(asking).rejects.toThrow('limit must be a whole number of rows')
      }
    }
    await expect(admin.listCalls({ limit: 1_001 })).rejects.toThrow('limit must be an integer from 1 to 1000')
    await expect(admin.listCalls({ after: '1' })).rejects.toThrow('of an earlier page')
    await expect(admin.entries({ limit: 1_001 })).rejects.toThrow('limit must be an integer from 1 to 1000')
    await expect(admin.entries({ after: '1.9223372036854775808' })).rejects.toThrow('of an earlier page')
  })

  it.each(['0', '-0', '0.00'])('is refused if a correction is %s', async (amount) => {
    await expect(admin.correct({ account: 'alice', amount })).rejects.toThrow(
      'correction.amount: must not be 0',
    )
    expect((await admin.entries({ account: 'alice' })).entries).toEqual([])
  })

  it('is refused if a posting would exceed the maximum balance, with a message that shows the sum', async () => {
    const most = formatCredits(MAX_CREDITS)
    await expect(admin.grant({ account: 'rich', amount: formatCredits(MAX_CREDITS + 1n) })).rejects.toThrow(
      `grant.amount: must be at most ${most} credits`,
    )
    await admin.grant({ account: 'rich', amount: most })
    await expect(admin.grant({ account: 'rich', amount: '0.000000001' })).rejects.toThrow(
      `grant.amount: must keep the balance between -${most} and ${most} credits; it would be ${formatCredits(MAX_CREDITS + 1n)}`,
    )
    await admin.correct({ account: 'poor', amount: `-${most}` })
    await expect(admin.correct({ account: 'poor', amount: '-1' })).rejects.toThrow(
      `it would be ${formatCredits(-MAX_CREDITS - 1_000_000_000n)}`,
    )
    expect(await admin.correct({ account: 'poor', amount: most, memo: 'a gift' })).toMatchObject({
      memo: 'a gift',
    })
    expect(await admin.balance('poor')).toMatchObject({ posted: 0n })
  })

  it('posts once if repeated, and marks the repeats', async () => {
    const grant = { account: 'bob', amount: '2', reference: 'invoice 7' }
    const first = await admin.grant(grant)
    expect(first).not.toHaveProperty('isRepeat')
    expect(await admin.grant(grant)).toEqual({ ...first, isRepeat: true })
    const together = await Promise.all(
      Array.from({ length: 5 }, () => admin.correct({ ...grant, amount: '-1', reference: 'slip 7' })),
    )
    expect(together.filter(({ isRepeat }) => isRepeat === undefined)).toHaveLength(1)
    expect((await admin.balance('bob'))?.posted).toBe(1_000_000_000n)
  })

  it('is refused if a time is beyond the range of Date', async () => {
    const last = 8_640_000_000_000_000
    await expect(admin.issueKey({ account: 'alice', expiresAt: last + 1 })).rejects.toThrow(
      'key.expiresAt: must be at most 8,640,000,000,000,000',
    )
    const { credentialId } = await admin.issueKey({ account: 'alice', expiresAt: last })
    await expect(admin.reissue(credentialId, { expiresAt: last + 1 })).rejects.toThrow(TypeError)
    const [row] = await admin.listCredentials({ credentialId })
    expect(new Date(row!.expiresAt!).toISOString()).toBe('+275760-09-13T00:00:00.000Z')
  })
})
