import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { formatCredits, MAX_CREDITS } from '../../src/base/money.js'
import { engineNames, useEngine } from '../helpers/engines.js'

describe.each(engineNames)('the input of an admin function on %s', (name) => {
  const engine = useEngine(name)
  let admin: Admin
  beforeAll(async () => {
    admin = createAdmin(engine.open('input'))
    await admin.accounts.open('alice')
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
      () => admin.keys.list({ account }),
      () => admin.entries.list({ account }),
      () => admin.calls.list({ account }),
      () => admin.calls.find(account),
      () => admin.calls.find('id', { account }),
      () => admin.maintenance.openHolds({ account }),
      () => admin.routes.list({ model: account }),
      () => admin.models.list({ modelIds: [account] }),
      () => admin.apps.list({ appIds: [account] }),
    ]) {
      await expect(asking()).rejects.toThrow(TypeError)
    }
    expect(await admin.accounts.find('alice')).toMatchObject({ id: 'alice' })
  })

  it('matches no rows if it is longer than any name', async () => {
    const long = 'x'.repeat(10_000)
    for (const looking of [
      admin.keys.revoke(long),
      admin.models.remove(long),
      admin.routes.remove(long),
      admin.apps.suspend(long),
      admin.accounts.suspend(long),
    ]) {
      expect(await looking).toBe(false)
    }
  })

  it('is refused if a number of rows or a page is invalid', async () => {
    for (const limit of [-1, 0, 1.5, 1e21]) {
      for (const asking of [
        admin.maintenance.openHolds({ limit }),
        admin.accounts.list({ limit }),
        admin.reports.spendReport({ by: 'model', limit }),
      ]) {
        await expect(asking).rejects.toThrow(/^(holds|accounts|spend)\.limit: must be /)
      }
    }
    await expect(admin.calls.list({ limit: 1_001 })).rejects.toThrow(
      'limit: must be an integer from 1 to 1000',
    )
    await expect(admin.calls.list({ after: '1' })).rejects.toThrow('of an earlier page')
    await expect(admin.entries.list({ limit: 1_001 })).rejects.toThrow(
      'limit: must be an integer from 1 to 1000',
    )
    await expect(admin.entries.list({ after: '1.9223372036854775808' })).rejects.toThrow('of an earlier page')
  })

  it('is refused by an error that names its field, so that a host can answer 400', async () => {
    const limit = {
      id: 'l',
      of: 'credential',
      ownerId: 'x',
      unit: 'credits',
      amount: 'much',
      per: 'month',
    } as const
    const refusals: readonly (readonly [() => Promise<unknown>, string | undefined])[] = [
      [() => admin.accounts.credit({ account: 'alice', amount: '-1' }), 'amount'],
      [() => admin.accounts.credit({ account: 'alice', amount: '1', memo: 5 as unknown as string }), 'memo'],
      [() => admin.limits.put(limit), 'amount'],
      [() => admin.entries.refund('1', '0'), 'amount'],
      [() => admin.models.put({ id: 'm', prices: { input: '9e99', output: '1' } }), 'prices.input'],
      [() => admin.models.remove(5 as unknown as string), 'id'],
      [() => admin.keys.revoke({} as unknown as string), 'credentialId'],
      [() => admin.entries.list({ after: '1' }), 'after'],
      [() => admin.calls.list({ limit: 1_001 }), 'limit'],
      [() => admin.maintenance.pruneHolds(0), 'olderThanDays'],
      [() => admin.keys.issue('alice' as unknown as { account: string }), undefined],
    ]
    for (const [refusal, field] of refusals) {
      const error = await refusal().then(
        () => undefined,
        (reason: Error & { problem?: string }) => reason,
      )
      expect(error, field).toMatchObject({ code: 'invalid_input', field, problem: expect.any(String) })
      expect(error?.message.endsWith(`: ${error.problem}`)).toBe(true)
    }
  })

  it.each(['0', '-0', '0.00'])('is refused if a correction is %s', async (amount) => {
    await expect(admin.accounts.correct({ account: 'alice', amount })).rejects.toThrow(
      'correction.amount: must not be 0',
    )
    expect((await admin.entries.list({ account: 'alice' })).entries).toEqual([])
  })

  it('is refused if a posting would exceed the maximum balance, with a message that shows the sum', async () => {
    const most = formatCredits(MAX_CREDITS)
    await expect(
      admin.accounts.credit({ account: 'rich', amount: formatCredits(MAX_CREDITS + 1n) }),
    ).rejects.toThrow(`credit.amount: must be at most ${most} credits`)
    await admin.accounts.credit({ account: 'rich', amount: most })
    await expect(admin.accounts.credit({ account: 'rich', amount: '0.000000001' })).rejects.toThrow(
      `credit.amount: must keep the balance between -${most} and ${most} credits; it would be ${formatCredits(MAX_CREDITS + 1n)}`,
    )
    await admin.accounts.correct({ account: 'poor', amount: `-${most}` })
    await expect(admin.accounts.correct({ account: 'poor', amount: '-1' })).rejects.toThrow(
      `it would be ${formatCredits(-MAX_CREDITS - 1_000_000_000n)}`,
    )
    expect(await admin.accounts.correct({ account: 'poor', amount: most, memo: 'a gift' })).toMatchObject({
      memo: 'a gift',
    })
    expect(await admin.accounts.balance('poor')).toMatchObject({ posted: 0n })
  })

  it('posts once if repeated, and marks the repeats', async () => {
    const grant = { account: 'bob', amount: '2', reference: 'invoice 7' }
    const first = await admin.accounts.credit(grant)
    expect(first).not.toHaveProperty('isRepeat')
    expect(await admin.accounts.credit(grant)).toEqual({ ...first, isRepeat: true })
    const together = await Promise.all(
      Array.from({ length: 5 }, () =>
        admin.accounts.correct({ ...grant, amount: '-1', reference: 'slip 7' }),
      ),
    )
    expect(together.filter(({ isRepeat }) => isRepeat === undefined)).toHaveLength(1)
    expect((await admin.accounts.balance('bob'))?.posted).toBe(1_000_000_000n)
  })

  it('is refused if a time is beyond the range of Date', async () => {
    const last = 8_640_000_000_000_000
    await expect(admin.keys.issue({ account: 'alice', expiresAt: last + 1 })).rejects.toThrow(
      'key.expiresAt: must be at most 8,640,000,000,000,000',
    )
    const { credentialId } = await admin.keys.issue({ account: 'alice', expiresAt: last })
    await expect(admin.keys.reissue(credentialId, { expiresAt: last + 1 })).rejects.toThrow(TypeError)
    const [row] = await admin.keys.list({ credentialId })
    expect(new Date(row!.expiresAt!).toISOString()).toBe('+275760-09-13T00:00:00.000Z')
  })
})
