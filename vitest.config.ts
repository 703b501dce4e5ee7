import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, mergeConfig, type ViteUserConfig } from 'vitest/config'
import { kindsOfFiles } from './test/helpers/kinds-of-files.js'
import LongestFirst from './test/helpers/longest-first.js'
import tsup from './tsup.config.js'

/** The package by its own name, as examples and documents import it, is its source here, not what was built last. */
const entries = (tsup as { entry: Record<string, string> }).entry
const alias = Object.entries(entries).map(([name, file]) => ({
  find: new RegExp(`^compat-router${name === 'index' ? '' : `/${name}`}$`),
  replacement: fileURLToPath(new URL(file, import.meta.url)),
}))
/** `SENDER=fetch` has every test send by fetch, as on Workers. */
const sender = process.env.SENDER === 'fetch' ? 'sender-fetch' : 'sender-undici'
alias.push({ find: /^#sender$/, replacement: fileURLToPath(new URL(entries[sender]!, import.meta.url)) })

/** How each file is tested. */
export const each: ViteUserConfig = {
  resolve: { alias },
  test: {
    // As long as a busy machine may need: what comes is seen at once, and only a test that hangs waits so long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // One more than there are cores: much of a test is spent waiting for a disk, a browser, a process or a timeout.
    maxWorkers: availableParallelism() + 1,
  },
}

/** What all files share. A project must not inherit it: each would start databases of its own. */
export const globalSetup = ['test/helpers/databases-setup.ts']

const files = kindsOfFiles()

export default defineConfig({
  test: {
    globalSetup,
    reporters: ['default', './test/helpers/closing-line.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      mergeConfig(each, { test: { name: 'alone', include: files.alone } }),
      // Most of the time of a short file goes into its imports, which these files share.
      mergeConfig(each, { test: { name: 'together', include: files.together, isolate: false } }),
      // Half of the time of these goes into pages in a browser: they are a step of their own.
      mergeConfig(each, { test: { name: 'browser', include: files.browser, isolate: false } }),
      mergeConfig(each, { test: { name: 'package', include: files.package } }),
    ],
  },
})
