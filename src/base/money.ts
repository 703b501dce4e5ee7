/** An amount of 10^-9 credit. Always an integer; nothing in this package holds money in a `number`. */
export type Credits = bigint

/** The most that an account, a hold or a posting can hold, above zero and below: ledgers keep 64-bit integers. */
export const MAX_CREDITS: Credits = 2n ** 63n - 1n

const DECIMALS = 9
const NANO = 10n ** BigInt(DECIMALS)
const NANO_NUMBER = Number(NANO)
const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER)
const DECIMAL_PATTERN = /^(\d{1,30})(?:\.(\d{1,9}))?$/

/**
 * Reads a decimal string of at most nine places, such as `'0.0375'`, into {@link Credits}.
 *
 * Throws a `TypeError` that names `what` for anything else: a number, a sign, an exponent, a tenth place, white space.
 */
export function parseCredits(text: string, what = 'amount'): Credits {
  const match = typeof text === 'string' ? DECIMAL_PATTERN.exec(text) : null
  if (match === null) {
    const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 64)) : typeof text
    throw new TypeError(
      `${what} must be a decimal string with at most ${DECIMALS} places, such as '0.15'; got ${shown}`,
    )
  }
  return BigInt(match[1]!) * NANO + BigInt((match[2] ?? '').padEnd(DECIMALS, '0'))
}

/**
 * The shortest decimal string of an amount: `formatCredits(1_200_000n)` is `'0.0012'`. Throws a `TypeError` for what is
 * no bigint.
 */
export function formatCredits(amount: Credits): string {
  if (typeof amount !== 'bigint') {
    throw new TypeError(
      `formatCredits takes a bigint of 10^-9 credit, such as 1_500_000_000n for '1.5'; got ${typeof amount}`,
    )
  }
  const sign = amount < 0n ? '-' : ''
  const digits = (amount < 0n ? -amount : amount).toString().padStart(DECIMALS + 1, '0')
  const whole = digits.slice(0, -DECIMALS)
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '')
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`
}

/** The amount as a JSON number. Exact for every amount that {@link roundUpToWire} returns unchanged. */
export function creditsToNumber(amount: Credits): number {
  // Both operands are exact below 2^53, so the quotient is the double nearest to the decimal, as `Number()` would read it.
  return amount <= MAX_EXACT ? Number(amount) / NANO_NUMBER : Number(formatCredits(amount))
}

/** From here on (1,000,000 credits) a double no longer carries every multiple of 10^-9. */
const WIRE_EXACT_BELOW = 10n ** 15n
const WIRE_DIGITS = 15

/** Rounds up to what a JSON number carries exactly: 15 significant digits from 1,000,000 credits on, unchanged below. */
export function roundUpToWire(amount: Credits): Credits {
  return roundUpTo(wireStep(amount), amount)
}

/**
 * The last place that a JSON number carries of an amount: 1 below 1,000,000 credits, else that of its 15th digit.
 * Parts that add up to an amount are exact too if they stop at the same place.
 */
export function wireStep(amount: Credits): Credits {
  return amount < WIRE_EXACT_BELOW ? 1n : 10n ** BigInt(amount.toString().length - WIRE_DIGITS)
}

/** The next multiple of `step`, for an amount of zero or more. */
export function roundUpTo(step: Credits, amount: Credits): Credits {
  return step === 1n ? amount : ceilDiv(amount, step) * step
}

/** Division rounded up, for a numerator of zero or more. */
export function ceilDiv(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator
}
