/**
 * Throws a `TypeError` if the value is not an object, or if an option has a misspelt name, because its default would
 * silently apply. Other unknown names are allowed, so that a host can pass an object with more fields.
 */
export function refuseMisspelt(given: unknown, names: readonly string[], what: string): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError(`${what} takes an object with ${names.join(', ')}`)
  }
  for (const name of Object.keys(given)) {
    const meant = names.includes(name)
      ? undefined
      : names.find((known) => resembles(name, known) || lacksUnit(name, known))
    if (meant !== undefined) {
      throw new TypeError(`${name} is not an option of ${what}; did you mean ${meant}?`)
    }
  }
}

/** Refuses every unknown option, since it would silently do nothing. */
export function refuseUnknown(given: unknown, names: readonly string[], what: string): void {
  refuseMisspelt(given, names, what)
  for (const name of Object.keys(given as object)) {
    if (names.includes(name)) continue
    throw new TypeError(`${name} is not an option of ${what}; its options are ${names.join(', ')}`)
  }
}

/** Whether two names have the same letters except for one, in any order and case. */
export function resembles(one: string, other: string): boolean {
  const missing = (from: string, letters: string): number => {
    let left = letters.toLowerCase()
    for (const letter of from.toLowerCase()) left = left.replace(letter, '')
    return left.length
  }
  return missing(one, other) + missing(other, one) <= 1
}

/** Endings of option names that other libraries often omit, as in `ttl`. */
const UNITS = ['Ms', 'Bytes', 'Tokens', 'Entries']

function lacksUnit(name: string, known: string): boolean {
  return UNITS.some((unit) => (name + unit).toLowerCase() === known.toLowerCase())
}

/** Throws a `TypeError` that names `what` if the value lacks one of these methods. Inherited methods count. */
export function requireMethods(what: string, given: unknown, methods: readonly string[]): void {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) {
    const missing = given === undefined || given === null ? 'is missing; it ' : ''
    throw new TypeError(`${what} ${missing}must be an object with ${methods.join(', ')}.`)
  }
  if (given instanceof Promise) throw new TypeError(`${what} is a promise: await it first.`)
  for (const method of methods) {
    if (typeof (given as Record<string, unknown>)[method] !== 'function') {
      throw new TypeError(`${what} has no method ${method}().`)
    }
  }
}

/** Throws a `TypeError` if the value is set but is not a clock with these methods. */
export function requireClock(what: string, given: unknown, methods: readonly string[]): void {
  if (given !== undefined) requireMethods(`${what}: clock`, given, methods)
}

/** Throws a `TypeError` if the value is not a plain object of functions. */
export function requireFunctions(what: string, given: unknown, noun: string, example: string): void {
  const isFieldless = typeof given === 'object' && given !== null && Symbol.iterator in given
  if (typeof given !== 'object' || given === null || isFieldless || given instanceof Promise) {
    throw new TypeError(`${what} must be an object of functions by name, such as ${example}`)
  }
  for (const [name, made] of Object.entries(given)) {
    if (typeof made !== 'function')
      throw new TypeError(`${what}.${name} must be a function ${noun}: ${example}`)
  }
}

/** Throws a `TypeError` if the value is set but is not a function. */
export function requireFunction(what: string, given: unknown): void {
  if (given !== undefined && typeof given !== 'function') throw new TypeError(`${what} must be a function.`)
}
