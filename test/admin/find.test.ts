import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createFacts, createHold, createSettle } from '../helpers/ledger-requests.js'

describe.each(engineNames)('the search of administration on %s', (name) => {
  const engine = useEngine(name)
  let stores: DurableStores
  let admin: Admin
  /** The ids of each account's things, by what they are. */
  const ids: Record<string, Record<string, string>> = {}

  async function furnish(account: string): Promise<Record<string, string>> {
    const { ledger, calls } = stores
    await admin.accounts.credit({ account, amount: '5', reference: `invoice-${account}` })
    const { credentialId } = await admin.keys.issue({ account, label: `Büro of ${account}` })
    await admin.userApps.put(account, {
      id: `app-${account}`,
      name: `Notes ${account}`,
      redirectUris: ['https://notes.example/cb'],
      markup: { basisPoints: 1 },
      allowedModels: [],
    })
    const open = createHold(account, 10n)
    const settled = createHold(account, 10n)
    await ledger.hold(open, context)
    await ledger.hold(settled, context)
    const facts = createFacts(account, { credentialId, sessionId: `talk-${account}` })
    for (const holdId of [settled.holdId, `second-${account}`])
      await ledger.settle(createSettle(holdId, account, 10n, { facts }), context)
    const [{ id: entryId } = { id: '' }] = (await admin.entries.list({ account })).entries
    calls.record({
      id: `call-${account}`,
      requestId: `request-${account}`,
      at: 1,
      operation: 'chat',
      status: 200,
      outcome: 'completed',
      durationMs: 1,
      facts,
    })
    return {
      account,
      key: credentialId,
      app: `app-${account}`,
      hold: open.holdId,
      entry: entryId,
      reference: `invoice-${account}`,
      session: `talk-${account}`,
      call: `call-${account}`,
      request: `request-${account}`,
    }
  }

  beforeAll(async () => {
    stores = engine.open('find')
    admin = createAdmin(stores)
    for (const account of ['Alice', 'bob']) ids[account] = await furnish(account)
    while ((await admin.calls.list()).calls.length < 2)
      await new Promise((resolve) => setTimeout(resolve, 20))
  })

  it('finds each kind of thing by its id', async () => {
    const kinds: Record<string, string> = {}
    for (const [what, id] of Object.entries(ids.Alice!)) {
      const found = await admin.find(id)
      expect(found, what).toHaveLength(1)
      expect(found[0]).toMatchObject({ account: 'Alice' })
      kinds[what] = found[0]!.kind
    }
    expect(kinds).toEqual({
      account: 'account',
      key: 'credential',
      app: 'app',
      hold: 'hold',
      entry: 'entry',
      reference: 'entry',
      session: 'session',
      call: 'call',
      request: 'call',
    })
  })

  it('tells a connected app and a session from a key, and which entry settled a hold', async () => {
    const { credentialId } = await admin.sessions.issue({ account: 'bob', origins: ['https://app.example'] })
    expect(await admin.find(credentialId)).toMatchObject([{ kind: 'credential', source: 'session' }])
    expect((await admin.find(ids.bob!.key!))[0]).not.toHaveProperty('source')
    const hold = createHold('bob', 1n)
    await stores.ledger.hold(hold, context)
    expect((await admin.find(hold.holdId))[0]).not.toHaveProperty('entryId')
    await stores.ledger.settle(createSettle(hold.holdId, 'bob', 1n), context)
    const [found] = await admin.find(hold.holdId)
    const { entries } = await admin.entries.list({ entryId: found!.entryId! })
    expect(entries).toMatchObject([{ id: found!.entryId, holdId: hold.holdId }])
  })

  it('finds accounts, credentials and apps by the beginning of their name, ignoring case', async () => {
    const found = async (text: string) =>
      (await admin.find(text)).map(({ kind, name, id }) => `${kind} ${name ?? id}`)
    expect(await found('aLI')).toEqual(['account Alice'])
    expect(await found('büro OF b')).toEqual(['credential Büro of bob'])
    expect((await found('nOtEs')).toSorted()).toEqual(['app Notes Alice', 'app Notes bob'])
    expect(await found('lice')).toEqual([])
    expect(await found('%')).toEqual([])
    expect(await found('--')).toEqual([])
  })

  it('finds, if it is given an account, only what belongs to that account', async () => {
    for (const [what, id] of Object.entries(ids.Alice!)) {
      expect(await admin.find(id, { account: 'bob' }), what).toEqual([])
      expect(await admin.find(id, { account: 'Alice' }), what).toHaveLength(1)
    }
    for (const text of ['b', 'B', 'n', 'a']) {
      for (const { account } of await admin.find(text, { account: 'bob' })) expect(account).toBe('bob')
    }
    await expect(admin.find('bob', { account: undefined as never })).rejects.toThrow(TypeError)
    await expect(admin.find('')).rejects.toThrow(TypeError)
  })

  it('finds at most 20, those with this id first', async () => {
    for (let number = 10; number < 40; number++) await admin.accounts.open(`many-${number}`)
    await admin.accounts.open('many-')
    const found = await admin.find('many-')
    expect(found).toHaveLength(20)
    expect(found[0]).toMatchObject({ kind: 'account', id: 'many-' })
  })
})
