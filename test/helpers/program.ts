import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** Below the packages that programs import, and ignored by git. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/programs', import.meta.url))
const made = new Map<string, Promise<string>>()

/** A module of a bundle finds files beside its source. */
const ownUrls: Plugin = {
  name: 'own-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(
        'import.meta.url',
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: 'ts',
    }))
  },
}

/**
 * Returns a JavaScript file with a program and all modules of this package that it imports, for Node to run in a process
 * of its own. It starts several times as fast as with a loader for TypeScript.
 */
export function programFile(source: URL): Promise<string> {
  const known = made.get(source.href) ?? bundle(fileURLToPath(source))
  made.set(source.href, known)
  return known
}

async function bundle(source: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    plugins: [ownUrls],
  })
  const { contents } = outputFiles[0]!
  const digest = createHash('sha256').update(contents).digest('hex').slice(0, 16)
  const file = join(FOLDER, `${basename(source, '.ts')}-${digest}.mjs`)
  await mkdir(FOLDER, { recursive: true })
  // Other processes may be starting the same program.
  const own = `${file}.${process.pid}`
  await writeFile(own, contents)
  await rename(own, file)
  return file
}
