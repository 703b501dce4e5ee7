/** The ways in which a host's function fails, for a table of tests. */
export const FAILING: [string, () => undefined | Promise<never>][] = [
  [
    'throws',
    () => {
      throw new Error('mine')
    },
  ],
  [
    'rejects',
    async () => {
      throw new Error('mine')
    },
  ],
]
