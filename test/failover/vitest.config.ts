import { defineConfig, mergeConfig } from 'vitest/config'
import { each } from '../../vitest.config.js'

const root = new URL('../..', import.meta.url).pathname

/** What each store must do, in files that look at nothing but the stores. */
const stores = [
  'test/postgres/ledger-conformance.test.ts',
  'test/sql/conformance.test.ts',
  'test/sql/connect.test.ts',
]

/** Failovers of PostgreSQL, and all stores behind PgBouncer: `npm run test:failover`. */
export default defineConfig({
  test: {
    maxWorkers: 1,
    projects: [
      mergeConfig(each, { root, test: { name: 'failover', include: ['test/failover/*.test.ts'] } }),
      ...['session', 'transaction'].map((name) =>
        mergeConfig(each, {
          root,
          test: {
            name,
            include: stores,
            globalSetup: ['test/failover/behind-pooler.ts'],
            // The other engine has no pooler.
            testNamePattern: /^(?!.*SQLite)/,
          },
        }),
      ),
    ],
  },
})
