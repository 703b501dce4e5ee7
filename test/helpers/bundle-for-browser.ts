import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'tsup'

/** Bundles a module into one file for a browser. Fails if any import needs Node. */
export async function bundleForBrowser(entry: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'compat-router-bundle-'))
  try {
    await build({
      config: false,
      silent: true,
      entry: { bundle: entry },
      outDir: folder,
      clean: false,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      noExternal: [/./],
    })
    return await readFile(join(folder, 'bundle.js'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
