const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Converts a decimal from JSON text or a test to an exact count of 10^-9. Throws if it is not a decimal or
 * has more than nine places. Independent of the code under test on purpose, since it checks that code.
 */
export function nanos(decimal: string): bigint {
  const match = NUMBER.exec(decimal)
  if (match === null) throw new Error(`${JSON.stringify(decimal)} is not a decimal`)
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const shift = 9 - fraction.length + Number(exponent)
  const digits = BigInt(whole + fraction)
  const unit = 10n ** BigInt(Math.abs(shift))
  if (shift < 0 && digits % unit !== 0n) throw new Error(`${decimal} is finer than 10^-9`)
  const amount = shift < 0 ? digits / unit : digits * unit
  return sign === '-' ? -amount : amount
}

/** The inverse, with as many digits as needed. */
export function decimal(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(10, '0')
  const text = `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')
  return amount < 0n ? `-${text}` : text
}
