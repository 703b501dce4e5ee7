import { describe, expect, test } from 'vitest'
import type { Prices, Principal, RouterOptions } from '../../src/index.js'
import type { LedgerStore } from '../../src/stores.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { ask, MODEL, PRICES, providerReply, WireService } from './service.js'

type Changing<Type> = { -readonly [Name in keyof Type]: Changing<Type[Name]> }

async function startWith(router: (options: RouterOptions) => Partial<RouterOptions>): Promise<WireService> {
  const service = await WireService.start({ router })
  service.upstream.script(answerJson(providerReply()))
  return service
}

async function costOf(answered: ReturnType<WireService['post']>): Promise<number> {
  const { usage } = (await (await answered).json()) as { usage: { cost: number } }
  return usage.cost
}

describe('an object that a store returns for every call and changes in place', () => {
  const model = (prices: Prices) => ({ id: MODEL, created: 1, ownedBy: 'acme', prices })
  const cases: readonly [string, Changing<Prices>, (prices: Changing<Prices>) => void][] = [
    [
      'a price',
      { ...PRICES },
      (prices) => {
        prices.request = '0.0002'
      },
    ],
    [
      'a price of a tier whose prices are frozen',
      Object.freeze({ ...PRICES, tiers: [{ ...PRICES, above: 5 }] }) as Changing<Prices>,
      ({ tiers }) => {
        tiers![0]!.request = '0.0002'
      },
    ],
  ]

  test.each(cases)('is read again for the next call: %s', async (_what, prices, change) => {
    const known = model(prices)
    const service = await startWith(() => ({ catalogue: { list: () => [known], get: () => known } }))
    expect(await costOf(service.post(ask()))).toBe(0.000174)
    change(prices)
    expect(await costOf(service.post(ask()))).toBe(0.000274)
    await service.close()
  })

  test('stays the same for a call in progress: the payer and the recipient of the markup', async () => {
    const principal: Changing<Principal> = {
      kind: 'access-token',
      account: 'bob',
      credentialId: 'bob-1',
      scopes: ['models.run'],
      app: { id: 'app-1', account: 'app-owner', markup: { basisPoints: 5_000 }, allowedModels: [MODEL] },
    }
    const service = await startWith(({ ledger }) => ({
      credentials: { resolve: () => ({ ok: true, principal }) },
      ledger: {
        ...ledger,
        async hold(...asked: Parameters<LedgerStore['hold']>) {
          principal.account = 'alice'
          if (principal.kind === 'access-token') principal.app.account = 'alice'
          return ledger.hold(...asked)
        },
      },
    }))
    expect(await costOf(service.post(ask()))).toBe(0.000261)
    const { entries } = await service.ledger.entries({}, { requestId: 'x', signal: AbortSignal.abort() })
    expect(entries[0]?.postings).toEqual([
      { account: 'bob', amount: -261_000n },
      { account: 'platform', amount: 174_000n },
      { account: 'app-owner', amount: 87_000n },
    ])
    await service.close()
  })
})
