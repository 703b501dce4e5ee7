import { defineConfig } from 'tsup'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    envelope: 'src/envelope/seal.ts',
    'price-lists': 'src/price-lists/index.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  dts: true,
  shims: true,
  clean: true,
  splitting: true,
  treeshake: true,
})
