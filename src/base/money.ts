/** An amount of 10^-9 credit. Always an integer; nothing in this package holds money in a `number`. */
export type Credits = bigint

/** The largest amount of an account, a hold or a posting, positive or negative: ledgers store 64-bit integers. */
export const MAX_CREDITS: Credits = 2n ** 63n - 1n

const DECIMALS = 9
const NANO = 10n ** BigInt(DECIMALS)
const NANO_NUMBER = Number(NANO)
const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER)
const DECIMAL_PATTERN = /^(\d{1,30})(?:\.(\d{1,9}))?$/

/**
 * Reads a decimal string of at most nine places, such as `'0.0375'`, into {@link Credits}.
 *
 * Otherwise throws a `TypeError` that names `what`: for a number, a sign, an exponent, a tenth place or white space.
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
 * Returns the shortest decimal string of an amount: `formatCredits(1_200_000n)` is `'0.0012'`. Throws a `TypeError` if
 * the amount is not a bigint.
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

/** Returns the amount as a JSON number. Exact for every amount that {@link roundUpToWire} returns unchanged. */
export function creditsToNumber(amount: Credits): number {
  // Both operands are exact below 2^53, so the quotient is the double nearest to the decimal, as in `Number()`.
  return amount <= MAX_EXACT ? Number(amount) / NANO_NUMBER : Number(formatCredits(amount))
}

/** From here on (1,000,000 credits) a double cannot represent every multiple of 10^-9. */
const WIRE_EXACT_BELOW = 10n ** 15n
const WIRE_DIGITS = 15

/**
 * Rounds up to an exact JSON number: unchanged below 1,000,000 credits, otherwise 15 significant digits. With `whole`,
 * rounds to the last decimal place of the rounded `whole`: parts of one amount are exact if they end at the same place.
 */
export function roundUpToWire(amount: Credits, whole = amount): Credits {
  if (whole < WIRE_EXACT_BELOW) return amount
  const step = 10n ** BigInt(whole.toString().length - WIRE_DIGITS)
  return ceilDiv(amount, step) * step
}

/** Divides and rounds up. The numerator must be zero or more. */
export function ceilDiv(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator
}

export function largest(first: Credits, ...others: readonly Credits[]): Credits {
  let most = first
  for (const other of others) if (other > most) most = other
  return most
}
