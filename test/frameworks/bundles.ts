import type { App } from './apps.js'

/** A server of one file, whose lines and commands are in the documents. Started where no package is installed. */
function bundle(
  title: string,
  packageName: string,
  alone: string,
  runtime = 'node',
  files: App['files'] = {},
): App {
  return {
    name: 'bundled',
    title,
    package: packageName,
    folder: `bundle-${title.replaceAll(' ', '-')}`,
    file: 'server.js',
    files,
    alone,
    start: () => [runtime, alone.split('/').at(-1)!],
  }
}

export const BUNDLES: readonly App[] = [
  bundle('esbuild', 'esbuild', 'out/server.cjs'),
  bundle('esbuild as ESM', 'esbuild', 'out/server.mjs'),
  bundle('webpack', 'webpack', 'out/server.cjs'),
  bundle('Vite', 'vite', 'out/server.js', 'node', {
    'vite.config.js': "export default { ssr: { noExternal: true }, build: { outDir: 'out' } }",
  }),
  bundle('Bun', 'bun', 'out/server.js', 'bun'),
]
