import { describe, expect, it } from 'vitest'
import { parsePrices } from '../../src/base/prices.js'
import type { CallFacts } from '../../src/contracts/ledger.js'
import { freeCharge, makeCharge, settlement } from '../../src/engine/charging/charge.js'

const usage = { prompt: 11, cached: 0, cacheWrite: 0, completion: 7, reasoning: 0 }
/** base 0.00125, cost 0.002 for {@link usage} */
const terms = {
  prices: parsePrices({ input: '10', output: '20', request: '0.001' }, 'prices'),
  markup: { basisPoints: 2_000n, flat: 500_000n },
}
const COST = 2_000_000n
const BASE = 1_250_000n

function charge(holdAmount: bigint, basis: 'reported' | 'estimated', neverOverdraw: boolean) {
  return makeCharge({ usage, basis, terms, priceVersion: 'v1', holdAmount, neverOverdraw })
}

describe('a charge', () => {
  it('is computed from the usage, including its fixed parts', () => {
    expect(charge(COST, 'reported', false)).toEqual({
      ...{ cost: COST, base: BASE, markup: COST - BASE },
      ...{ basis: 'reported', byok: false, usage, priceVersion: 'v1' },
    })
  })

  it('exceeds the hold if more was reported, as an overdraft and never a loss', () => {
    expect(charge(1n, 'reported', false)).toMatchObject({ cost: COST, base: BASE })
    expect(charge(1n, 'reported', false)).not.toHaveProperty('shortfall')
  })

  it('never exceeds the hold if it is an estimate', () => {
    expect(charge(COST - 1n, 'estimated', false)).toMatchObject({ cost: COST - 1n, base: BASE })
    expect(charge(COST, 'estimated', false)).toMatchObject({ cost: COST, base: BASE })
  })

  it('never exceeds the hold under neverOverdraw, and states the shortfall', () => {
    const capped = charge(BASE + 1n, 'reported', true)
    expect(capped).toMatchObject({ cost: BASE + 1n, base: BASE, markup: 1n, shortfall: COST - BASE - 1n })
    expect(charge(COST, 'reported', true)).not.toHaveProperty('shortfall')
  })

  it('covers the base first if the hold is smaller than the cost', () => {
    expect(charge(BASE - 1n, 'reported', true)).toMatchObject({
      cost: BASE - 1n,
      base: BASE - 1n,
      markup: 0n,
    })
  })

  it('of zero omits request price and flat markup, and keeps the counts', () => {
    const free = freeCharge({ usage, basis: 'reported', terms, priceVersion: undefined })
    expect(free).toEqual({ cost: 0n, base: 0n, markup: 0n, basis: 'reported', byok: false, usage })
  })
})

describe('the settlement of a charge', () => {
  const facts: CallFacts = { requestId: 'r', account: 'alice', credentialId: 'c', model: 'acme/fast' }
  const made = charge(COST, 'reported', false)

  function postings(appAccount: string | undefined, platform = 'platform') {
    return settlement('h', made, appAccount, platform, { ...facts, appId: 'app-1' }, undefined).postings
  }

  it.each([
    ['the app', 'app'],
    ['the platform, for an app without an account', undefined],
    ['the payer, who is the app', 'alice'],
  ])('adds up to zero with the markup going to %s', (_who, appAccount) => {
    const amounts = postings(appAccount).map(({ amount }) => amount)
    expect(amounts).toEqual([-COST, BASE, COST - BASE])
  })

  it('sends each amount to its account', () => {
    expect(postings('app').map(({ account }) => account)).toEqual(['alice', 'platform', 'app'])
    expect(postings(undefined, 'house').map(({ account }) => account)).toEqual(['alice', 'house', 'house'])
  })

  it('has a claim only if there is one', () => {
    expect(settlement('h', made, undefined, 'platform', facts, undefined)).not.toHaveProperty('claim')
    expect(settlement('h', made, undefined, 'platform', facts, 'claim-1')).toMatchObject({
      holdId: 'h',
      claim: 'claim-1',
    })
  })
})
