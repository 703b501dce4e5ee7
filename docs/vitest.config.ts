import { defineConfig } from 'vitest/config'

/** The tests of the built site in a real browser: `npm run docs:test`. */
export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ['test/**/*.test.ts'],
    // As long as a busy machine may need to look at every page.
    testTimeout: 900_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
})
