const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * A decimal, as it stands in JSON text or in a test, as an exact count of 10^-9. Throws if it is none, or is finer
 * than that. Apart from the code under test on purpose: it is what that code is measured by.
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

/** The other way round, with as many digits as it takes. */
export function decimal(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(10, '0')
  const text = `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')
  return amount < 0n ? `-${text}` : text
}
