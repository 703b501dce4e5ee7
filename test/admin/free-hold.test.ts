import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'

describe.each(engineNames)('a hold that an operator releases on %s', (name) => {
  const engine = useEngine(name)

  it('no longer counts and frees its idempotency key, and its call can still be settled', async () => {
    const stores = engine.open('freed')
    const { database, idempotency, ledger } = stores
    const admin = createAdmin(stores)
    await openAccounts(database, { alice: '0.000000005' })
    const hold = createHold('alice', 5n, { claim: 'key' })
    const claim = { claim: 'key', account: 'alice', digest: 'd', leaseMs: 60_000 }
    await ledger.hold(hold, context)
    await idempotency.claim(claim, context)
    await admin.maintenance.freeHold(hold.holdId)
    expect(await admin.maintenance.openHolds()).toEqual([])
    expect(await admin.accounts.balance('alice')).toEqual({ posted: 5n, held: 0n, available: 5n })
    expect(await idempotency.claim(claim, context)).toEqual({ state: 'mine' })
    expect(await ledger.hold(createHold('alice', 5n, { claim: 'key' }), context)).toMatchObject({ ok: true })
    const settled = await ledger.settle(createSettle(hold.holdId, 'alice', 7n, { claim: 'key' }), context)
    expect(settled).toMatchObject({ repeated: false, overdraft: 2n, claimLost: true })
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('must be open, or the release is refused', async () => {
    const stores = engine.open('closed')
    const admin = createAdmin(stores)
    const hold = createHold('alice', 0n)
    await stores.ledger.hold(hold, context)
    await stores.ledger.settle(createSettle(hold.holdId, 'alice', 7n), context)
    for (const holdId of [hold.holdId, 'nobody']) {
      await expect(admin.maintenance.freeHold(holdId)).rejects.toMatchObject({
        name: 'Refusal',
        reason: 'not-found',
        message: `There is no open hold "${holdId}"`,
      })
    }
    await expect(admin.maintenance.freeHold('a\u0000b')).rejects.toThrow(TypeError)
    expect(await admin.accounts.balance('alice')).toMatchObject({ posted: -7n })
  })
})
