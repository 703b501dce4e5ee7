/**
 * Checks of what a store is given, before it reads a member: a caller who leaves an argument out learns its name. The
 * schemas of options would take longer, and some of these methods are asked in each call.
 */

/** Throws a `TypeError` if this is missing or no object. */
export function checkObject(given: unknown, what: string): void {
  if (typeof given !== 'object' || given === null) throw fault(given, what, 'an object')
}

/** Throws a `TypeError` if this is missing or no list. */
export function checkList(given: unknown, what: string): void {
  if (!Array.isArray(given)) throw fault(given, what, 'a list')
}

/** Throws a `TypeError` if this is missing or no string. */
export function checkString(given: unknown, what: string): void {
  if (typeof given !== 'string') throw fault(given, what, 'a string')
}

/** Throws a `TypeError` if this is missing or no whole number of at least 0. */
export function checkWhole(given: unknown, what: string): void {
  if (!Number.isSafeInteger(given) || Number(given) < 0)
    throw fault(given, what, 'a whole number of at least 0')
}

function fault(given: unknown, what: string, noun: string): TypeError {
  const got = given === null ? 'null' : Array.isArray(given) ? 'a list' : typeof given
  return new TypeError(
    given === undefined ? `${what} is missing; it must be ${noun}` : `${what} must be ${noun}; got ${got}`,
  )
}
