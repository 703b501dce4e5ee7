import type { Price, Prices } from '../../src/base/prices.js'
import type { Markup } from '../../src/contracts/credentials.js'
import type { Usage } from '../../src/protocol/usage.js'

/**
 * The prices of docs/charging.md, implemented a second time: fractions of whole numbers, rounded up once.
 * Nothing here is shared with the engine, so that a mistake would have to be made twice.
 */
export interface OracleTerms {
  readonly prices: Prices
  readonly markup: Markup | undefined
  readonly byokFee: { readonly flat: string; readonly basisPoints: number } | undefined
}

export interface OraclePrice {
  readonly cost: bigint
  readonly base: bigint
  readonly markup: bigint
}

const MILLION = 1_000_000n
const WHOLE = 10_000n

/** Credits as written, in billionths. */
export function nano(text: string): bigint {
  const [whole, decimals = ''] = text.split('.')
  return BigInt(whole! + decimals.padEnd(9, '0'))
}

export function oraclePrice(usage: Usage, { prices, markup, byokFee }: OracleTerms): OraclePrice {
  const row = rowAbove(prices, usage.prompt)
  const input = nano(row.input)
  const output = nano(row.output)
  const fresh = usage.prompt - usage.cached - usage.cacheWrite
  const millionths =
    nano(row.request ?? '0') * MILLION +
    BigInt(fresh) * input +
    BigInt(usage.cached) * (row.cachedInput === undefined ? input : nano(row.cachedInput)) +
    BigInt(usage.cacheWrite) * (row.cacheWrite === undefined ? input : nano(row.cacheWrite)) +
    BigInt(usage.completion - usage.reasoning) * output +
    BigInt(usage.reasoning) * (row.reasoning === undefined ? output : nano(row.reasoning))
  return marked(millionths, markup, byokFee)
}

/** The amount that must be on hold for so many tokens. */
export function oracleHold(prompt: number, output: number, { prices, markup, byokFee }: OracleTerms): bigint {
  const rows = [prices, ...(prices.tiers ?? []).filter(({ above }) => above < prompt * 2)]
  let dearest = 0n
  for (const row of rows) {
    const written = largest(nano(row.input), nano(row.cacheWrite ?? row.input))
    const input = largest(written, nano(row.cachedInput ?? row.input))
    const out = largest(nano(row.output), nano(row.reasoning ?? row.output))
    const millionths = nano(row.request ?? '0') * MILLION + BigInt(prompt) * input + BigInt(output) * out
    dearest = largest(dearest, millionths)
  }
  return marked(dearest, markup, byokFee).cost
}

function marked(
  list: bigint,
  markup: Markup | undefined,
  fee: { readonly flat: string; readonly basisPoints: number } | undefined,
): OraclePrice {
  // In units of a billionth / (10^6 x 10^4): a price per million tokens, times a share in basis points.
  const exact =
    fee === undefined ? list * WHOLE : nano(fee.flat) * MILLION * WHOLE + list * BigInt(fee.basisPoints)
  const unit = MILLION * WHOLE
  const share = BigInt(markup?.basisPoints ?? 0)
  const flat = nano(markup?.flat ?? '0')
  const whole = up(exact * WHOLE + exact * share + flat * unit * WHOLE, unit * WHOLE)
  const cost = upTo(lastPlace(whole), whole)
  const base = upTo(lastPlace(cost), up(exact, unit))
  return { cost, base, markup: cost - base }
}

function rowAbove(prices: Prices, prompt: number): Price {
  const tiers = (prices.tiers ?? []).filter(({ above }) => prompt > above)
  return tiers.sort((one, other) => other.above - one.above)[0] ?? prices
}

/** From a million credits on, 15 digits. */
function lastPlace(amount: bigint): bigint {
  return amount < 1_000_000n * 10n ** 9n ? 1n : 10n ** BigInt(amount.toString().length - 15)
}

function upTo(place: bigint, amount: bigint): bigint {
  return up(amount, place) * place
}

function up(numerator: bigint, denominator: bigint): bigint {
  return numerator / denominator + (numerator % denominator === 0n ? 0n : 1n)
}

function largest(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}
