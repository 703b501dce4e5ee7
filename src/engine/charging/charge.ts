import type { Credits } from '../../base/money.js'
import type { Mutable } from '../../base/mutable.js'
import type { CallFacts, Charge, LimitUse, Posting, SettleRequest } from '../../contracts/ledger.js'
import { FREE, type PricedUsage, price, type Terms } from './price.js'
import type { ResolvedUsage } from './usage-meter.js'

export interface ChargeTerms extends ResolvedUsage {
  readonly terms: Terms
  readonly priceVersion: string | undefined
  readonly holdAmount: Credits
  readonly neverOverdraw: boolean
}

/**
 * Makes the charge for a usage, frozen, so that nobody needs a copy. An estimate never exceeds the hold, and under
 * `neverOverdraw` no charge does.
 */
export function makeCharge(request: ChargeTerms): Charge {
  const { usage, basis, terms, holdAmount, neverOverdraw } = request
  const full = price(usage, terms)
  const capped = basis === 'estimated' || neverOverdraw ? atMost(full, holdAmount) : full
  const shortfall = neverOverdraw ? full.cost - capped.cost : 0n
  return charge(capped, request, shortfall)
}

/** Makes a charge of zero, without the fixed parts too. */
export function freeCharge(request: Omit<ChargeTerms, 'holdAmount' | 'neverOverdraw'>): Charge {
  return charge(FREE, request, 0n)
}

function charge(
  { cost, base, markup }: PricedUsage,
  { usage, basis, terms, priceVersion }: Pick<ChargeTerms, 'usage' | 'basis' | 'terms' | 'priceVersion'>,
  shortfall: Credits,
): Charge {
  const made: Mutable<Charge> = { cost, base, markup, basis, byok: terms.byokFee !== undefined, usage }
  if (priceVersion !== undefined) made.priceVersion = priceVersion
  if (shortfall > 0n) made.shortfall = shortfall
  Object.freeze(made.usage)
  return Object.freeze(made)
}

/** Returns a frozen copy of a charge that a host's ledger returned, and may change. */
export function frozenCopy(charge: Charge): Charge {
  return Object.freeze({ ...charge, usage: Object.freeze({ ...charge.usage }) })
}

/** Limits a price. The host's own cost is covered first, so the markup shrinks first. */
function atMost(full: PricedUsage, limit: Credits): PricedUsage {
  if (full.cost <= limit) return full
  const base = full.base < limit ? full.base : limit
  return { cost: limit, base, markup: limit - base }
}

/**
 * The payer pays `cost`. The platform gets `base`. The app gets the markup, or the platform does if the app has no
 * account.
 */
export function settlement(
  holdId: string,
  charge: Charge,
  appAccount: string | undefined,
  platformAccount: string,
  facts: CallFacts,
  claim: string | undefined,
  limits?: readonly LimitUse[],
): SettleRequest {
  const postings: Posting[] = [
    { account: facts.account, amount: -charge.cost },
    { account: platformAccount, amount: charge.base },
  ]
  if (facts.appId !== undefined) {
    postings.push({ account: appAccount ?? platformAccount, amount: charge.markup })
  }
  const request: Mutable<SettleRequest> = { holdId, charge, postings, facts }
  if (claim !== undefined) request.claim = claim
  if (limits !== undefined) request.limits = limits
  return request
}
