/**
 * The `code` of an error about a value that a caller gave. It distinguishes the caller's mistakes from faults, because each
 * entry of the package contains a copy of these functions.
 */
export const INVALID_INPUT = 'invalid_input'

/** Returns the error for a value that is missing, or of the wrong kind or form. */
export function invalidInput(message: string): TypeError {
  return Object.assign(new TypeError(message), { code: INVALID_INPUT })
}

/** Returns the error for a number, an amount or a time beyond its bounds. */
export function outOfRange(message: string): RangeError {
  return Object.assign(new RangeError(message), { code: INVALID_INPUT })
}
