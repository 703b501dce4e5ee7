import { defineConfig, type Options } from 'tsup'

/** jose is an ES module alone, which Node 20.18 and Jest cannot require: what is required holds a copy of it. */
const JOSE = /^jose$/
const importJose: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'import-jose',
  setup({ initialOptions, onResolve }) {
    if (initialOptions.outExtension?.['.js'] === '.cjs') return
    onResolve({ filter: JOSE }, ({ path }) => ({ path, external: true }))
  },
}

/** What is loaded later is required too, in what is required: Jest's CommonJS has no `import()`. */
const requireLater: NonNullable<Options['plugins']>[number] = {
  name: 'require-later',
  renderChunk(code) {
    if (this.format !== 'cjs') return undefined
    return {
      code: code.replace(/\bimport\((["']\.\/[^"']+["'])\)/g, 'Promise.resolve().then(() => require($1))'),
    }
  },
}

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    fastify: 'src/fastify.ts',
    fetch: 'src/handler.ts',
    stores: 'src/stores.ts',
    adapters: 'src/adapters.ts',
    envelope: 'src/envelope/seal.ts',
    'ai-sdk': 'src/providers/ai-sdk/index.ts',
    'price-lists': 'src/price-lists/index.ts',
    sqlite: 'src/sqlite/index.ts',
    'sqlite-worker': 'src/sqlite/worker.ts',
    postgres: 'src/postgres/index.ts',
    opentelemetry: 'src/opentelemetry/index.ts',
    testing: 'src/testing/index.ts',
    admin: 'src/admin/index.ts',
    browser: 'src/browser/index.ts',
    console: 'src/console/index.ts',
    connect: 'src/connect/index.ts',
    cli: 'src/cli/main.ts',
    demo: 'src/demo/index.ts',
    'sender-undici': 'src/upstream/undici/index.ts',
    'sender-fetch': 'src/upstream/fetch/index.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  dts: true,
  shims: true,
  // The pages of the console are built there by themselves.
  clean: ['!console/**'],
  splitting: true,
  treeshake: true,
  noExternal: [JOSE],
  // package.json says which file it is in which runtime.
  external: ['#sender'],
  esbuildPlugins: [importJose],
  plugins: [requireLater],
})
