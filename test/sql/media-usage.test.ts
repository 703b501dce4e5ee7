import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import type { Charge } from '../../src/contracts/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createCharge, createHold, createSettle } from '../helpers/ledger-requests.js'

const TEXT = { prompt: 11, cached: 1, cacheWrite: 2, completion: 7, reasoning: 3 }
const HEARD = { ...TEXT, audioInput: 4, audioOutput: 5 }
const SEEN = { ...TEXT, imageInput: 6, imageOutput: 1, audioInput: 2 }
const PRICES = {
  input: '1',
  output: '2',
  audioInput: '3',
  audioOutput: '4.000000001',
  imageInput: '0',
  imageOutput: '5',
  tiers: [{ above: 1_000, input: '2', output: '4', audioInput: '6' }],
}

describe.each(engineNames)('audio and image tokens in %s', (name) => {
  const engine = useEngine(name)

  it('are in entries, in repeated settlements and in sums, and only if there are any', async () => {
    const stores = engine.open('entries')
    const { ledger } = stores
    const admin = createAdmin(stores)
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    const settle = async (usage: Charge['usage'], model: string) => {
      const hold = createHold('alice', 9n)
      await ledger.hold(hold, context)
      const request = createSettle(hold.holdId, 'alice', 9n, { charge: createCharge(9n, { usage }) })
      const facts = { ...request.facts, model }
      await ledger.settle({ ...request, facts }, context)
      const repeated = await ledger.settle({ ...request, facts, charge: createCharge(1n) }, context)
      expect(repeated).toMatchObject({ repeated: true })
      expect(repeated.charge.usage).toStrictEqual(usage)
    }
    for (const [usage, model] of [
      [HEARD, 'mixed'],
      [SEEN, 'mixed'],
      [TEXT, 'text'],
    ] as const) {
      await settle(usage, model)
    }
    const { entries } = await admin.entries.list({})
    const kept = entries.filter(({ kind }) => kind === 'charge').map(({ charge }) => charge!.usage)
    expect(kept).toStrictEqual([TEXT, SEEN, HEARD])

    const { rows, total } = await admin.reports.spendReport({ by: 'model' })
    const twice = { prompt: 22, cached: 2, cacheWrite: 4, completion: 14, reasoning: 6 }
    const mixed = { ...twice, audioInput: 6, audioOutput: 5, imageInput: 6, imageOutput: 1 }
    expect(rows.map(({ key, usage }) => [key, usage])).toStrictEqual([
      ['mixed', mixed],
      ['text', TEXT],
    ])
    expect(await admin.reports.spend({ by: 'model', model: 'mixed' })).toMatchObject([{ usage: mixed }])
    expect(total.usage).toMatchObject({ prompt: 33, audioInput: 6, imageOutput: 1 })
    expect((await admin.reports.spendReport({ by: 'day', model: 'none' })).total.usage).toStrictEqual({
      prompt: 0,
      cached: 0,
      cacheWrite: 0,
      completion: 0,
      reasoning: 0,
    })
  })

  it('have prices in the catalogue, which are checked', async () => {
    const stores = engine.open('catalogue')
    const admin = createAdmin(stores)
    await admin.models.put({ id: 'acme/live', prices: PRICES })
    expect(await stores.catalogue.get('acme/live', context)).toMatchObject({ prices: PRICES })
    for (const price of ['audioInput', 'audioOutput', 'imageInput', 'imageOutput']) {
      const wrong = { input: '1', output: '1', [price]: '-1' }
      await expect(admin.models.put({ id: 'acme/live', prices: wrong })).rejects.toThrow(price)
      const huge = { input: '1', output: '1', [price]: '9'.repeat(30) }
      await expect(admin.models.put({ id: 'acme/live', prices: huge })).rejects.toThrow(price)
    }
  })
})
