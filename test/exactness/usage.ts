import { nanos } from '../helpers/decimals.js'

/** Tokens, counted as the provider counts them. `cached` is a part of `prompt`. */
export interface Usage {
  readonly prompt: number
  readonly cached: number
  readonly completion: number
}

export const NOTHING: Usage = { prompt: 0, cached: 0, completion: 0 }

/** Decimal strings, per million tokens, in the currency of the target. */
export interface Prices {
  readonly input: string
  /** As `input` if absent. */
  readonly cachedInput?: string
  readonly output: string
}

/** The published prices of `gpt-4o`, which targets with a fixed price list have too. */
export const PRICES: Prices = { input: '2.5', cachedInput: '1.25', output: '10' }

const MILLION = 1_000_000n

/** The price of a usage, in billionths of the currency. All counts here make whole millionths. */
export function priceOf(usage: Usage, { cachedInput, input, output }: Prices): bigint {
  const { cached, completion, prompt } = usage
  const base =
    BigInt(prompt - cached) * nanos(input) +
    BigInt(cached) * nanos(cachedInput ?? input) +
    BigInt(completion) * nanos(output)
  if (base % MILLION !== 0n) throw new Error('A scenario must cost a whole number of billionths.')
  return base / MILLION
}

/** Rounds a decimal of any length to billionths: peers that calculate in binary have more digits than their prices. */
export function roundedNanos(amount: number): bigint {
  return BigInt(Math.round(amount * 1e9))
}
