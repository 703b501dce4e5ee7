import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import tsup from './tsup.config.js'

/** The package by its own name, as examples and documents import it, is its source here, not what was built last. */
const entries = (tsup as { entry: Record<string, string> }).entry
const alias = Object.entries(entries).map(([name, file]) => ({
  find: new RegExp(`^compat-router${name === 'index' ? '' : `/${name}`}$`),
  replacement: fileURLToPath(new URL(file, import.meta.url)),
}))

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/databases-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // As long as a busy machine may need: what comes is seen at once.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // The default leaves one core to Vitest itself, so on two cores the tests would run one after the other.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    reporters: ['default', './test/helpers/closing-line.ts'],
  },
})
