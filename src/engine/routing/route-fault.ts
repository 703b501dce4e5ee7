import type { Route } from '../../contracts/index.js'

type Check = {
  readonly field: keyof Route
  readonly is: (value: unknown) => boolean
  readonly wanted: string
}

const oneOf = (...words: readonly unknown[]): Pick<Check, 'is' | 'wanted'> => ({
  is: (value) => words.includes(value),
  wanted: `one of ${words.map((word) => JSON.stringify(word)).join(', ')}`,
})

/** The members that decide whether a route is used, on whose key, and how. Prices are checked when they are read. */
const CHECKS: readonly Check[] = [
  { field: 'enabled', ...oneOf(true, false) },
  { field: 'byok', ...oneOf('yes', 'no', 'only') },
  { field: 'onDisconnect', ...oneOf('abort', 'drain') },
  { field: 'promptEscapes', ...oneOf('ascii', 'html') },
  {
    field: 'weight',
    is: (value) => typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY,
    wanted: 'a number from 0 up',
  },
  {
    field: 'defaultOutputTokens',
    is: (value) => Number.isSafeInteger(value) && (value as number) > 0,
    wanted: 'a whole number above 0',
  },
  { field: 'supportedParameters', is: Array.isArray, wanted: 'a list' },
]

/**
 * Returns the fault of a route from the host's own registry, or undefined if it has none. A null counts as absent, since
 * database rows have it. A route that is switched off by a wrong value would otherwise be used, and paid for.
 */
export function routeFault(route: Route): string | undefined {
  if (typeof route !== 'object' || route === null) return 'routes() returned a route that is no object'
  for (const { field, is, wanted } of CHECKS) {
    const value: unknown = route[field]
    if (value !== undefined && value !== null && !is(value))
      return `${field} of the route '${route.id}' is not ${wanted}`
  }
  return undefined
}
