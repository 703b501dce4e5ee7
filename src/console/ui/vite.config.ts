import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** Builds static files with relative addresses, so that the console works wherever it is mounted. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  logLevel: 'warn',
  build: {
    outDir: fileURLToPath(new URL('../../../dist/console', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    // Nothing inline: the pages' policy allows scripts and styles only from files.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // The licences of bundled packages require their texts beside the bundle.
    license: { fileName: 'licenses.md' },
  },
})
