import { defineConfig, mergeConfig } from 'vitest/config'
import { each } from '../../vitest.config.js'

/** Coding agents in front of strict stand-ins: `npm run test:agents`. */
export default defineConfig(
  mergeConfig(each, {
    root: import.meta.dirname,
    test: {
      globalSetup: ['install.ts'],
      include: ['*.test.ts'],
      // An agent that hangs is ended then. On a busy machine, one may take a minute.
      testTimeout: 600_000,
      // Most of an agent's time is spent waiting, but each has a process of some hundred megabytes.
      maxConcurrency: 4,
    },
  }),
)
