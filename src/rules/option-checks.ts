import { lacksUnit, resembles } from './read-options.js'

/** Throws a `TypeError` if the value is not an object, or has an unknown option, which would silently do nothing. */
export function refuseUnknown(given: unknown, names: readonly string[], what: string): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError(`${what} takes an object with ${names.join(', ')}`)
  }
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue
    const meant = names.find((known) => resembles(name, known) || lacksUnit(name, known))
    const rest = meant === undefined ? `its options are ${names.join(', ')}` : `did you mean ${meant}?`
    throw new TypeError(`${name} is not an option of ${what}; ${rest}`)
  }
}

/** Throws a `TypeError` if the value is set but is not a function. */
export function requireFunction(what: string, given: unknown): void {
  if (given !== undefined && typeof given !== 'function') throw new TypeError(`${what} must be a function.`)
}
