export const MODELS = { one: 'acme/one', two: 'acme/two', claude: 'acme/claude' } as const
/** The providers' names for them. Those of `two` are called in this order. */
export const UPSTREAM_MODELS = { first: 'first', second: 'second', claude: 'claude' } as const
export const TOKENS = {
  alice: 'sk-fast-alice',
  bob: 'at-fast-bob',
  pauper: 'sk-fast-pauper',
  nobody: 'sk-fast-nobody',
} as const
export const OPENING = { alice: '1000', bob: '1000', pauper: '0.0000001' } as const

/** The router's ids, which depend on the order in which calls proceed. No two runs have the same. */
export const ID = {
  make: (number: number): string => `fastid${String(number).padStart(10, '0')}`,
  pattern: /fastid\d{10}/g,
} as const
