import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { endpoints } from '../endpoints/index.js'

/** Builds static files with relative addresses, so that the console works wherever it is mounted. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  logLevel: 'warn',
  // The table of endpoints runs on the server; its marks are all that the pages need at run time.
  define: { MARKS: JSON.stringify(Object.fromEntries(endpoints.map(({ path, mark }) => [path, mark]))) },
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
