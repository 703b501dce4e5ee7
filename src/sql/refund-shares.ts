import type { Credits, LimitUse, Posting } from '../contracts/index.js'

/** The part of a charge that has been refunded before a refund, and with it. */
export interface RefundStep {
  readonly cost: Credits
  readonly before: Credits
  readonly after: Credits
}

/**
 * Returns the postings that reverse those of a charge, in proportion. They add up to zero. However a charge is refunded in
 * parts, no account gets back or gives back more than the charge posted, and the whole charge is reversed exactly.
 */
export function refundPostings(postings: readonly Posting[], step: RefundStep): readonly Posting[] {
  const debits = postings.filter(({ amount }) => amount < 0n)
  const credits = postings.filter(({ amount }) => amount > 0n)
  const none = postings.filter(({ amount }) => amount === 0n)
  return [
    ...reverse(debits, step, 1n),
    ...reverse(credits, step, -1n),
    ...none.map(({ account }) => ({ account, amount: 0n })),
  ]
}

/** Returns the uses of credits buckets that a refund takes back. */
export function refundUses(uses: readonly LimitUse[], step: RefundStep): readonly LimitUse[] {
  return uses
    .filter(({ unit }) => unit === 'credits')
    .map((use) => ({
      ...use,
      used: share(use.used, step.before, step.cost) - share(use.used, step.after, step.cost),
    }))
}

function reverse(
  postings: readonly Posting[],
  { cost, before, after }: RefundStep,
  sign: Credits,
): readonly Posting[] {
  const amounts = postings.map(({ amount }) => (amount < 0n ? -amount : amount))
  const total = amounts.reduce((sum, amount) => sum + amount, 0n)
  const earlier = split(share(total, before, cost), amounts)
  const later = split(share(total, after, cost), amounts)
  return postings.map(({ account }, index) => ({ account, amount: sign * (later[index]! - earlier[index]!) }))
}

/**
 * Splits a part of a sum in proportion to the amounts in the sum. Each share is at most its amount, and does not shrink
 * as the part grows: each is rounded down from what the shares before it have left.
 */
function split(part: Credits, amounts: readonly Credits[]): readonly Credits[] {
  let left = part
  let total = amounts.reduce((sum, amount) => sum + amount, 0n)
  return amounts.map((amount) => {
    const own = share(amount, left, total)
    left -= own
    total -= amount
    return own
  })
}

function share(amount: Credits, part: Credits, whole: Credits): Credits {
  return (amount * part) / whole
}
