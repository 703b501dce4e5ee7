import { defineConfig, mergeConfig } from 'vitest/config'
import { each } from '../../vitest.config.js'

/** The router in frameworks that build an application: `npm run test:frameworks`. */
export default defineConfig(
  mergeConfig(each, {
    root: import.meta.dirname,
    test: {
      globalSetup: ['install.ts'],
      include: ['*.test.ts'],
      // The time of a build on a busy machine.
      hookTimeout: 300_000,
      testTimeout: 30_000,
      expect: { poll: { timeout: 15_000 } },
      maxWorkers: 1,
    },
  }),
)
