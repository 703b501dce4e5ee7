import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Packs the package as it was built last, and installs it in an empty project, with peer dependencies of this
 * repository. Returns the tarball.
 */
export async function installPacked(project: string, peers: readonly string[]): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', project], {
    cwd: ROOT,
  })
  const tarball = join(project, JSON.parse(stdout)[0].filename)
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ name: 'consumer', private: true, type: 'module' }),
  )
  const installed = [tarball, ...peers.map((peer) => join(ROOT, 'node_modules', peer))]
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...installed], { cwd: project })
  return tarball
}
