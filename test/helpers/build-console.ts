import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Builds the pages if they are missing or older than their source. Up-to-date pages are left alone, because
 * other processes may be reading them.
 */
export async function buildConsole(): Promise<void> {
  const built = changedAt(join(root, 'dist/console/index.html'))
  const folder = join(root, 'src/console')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  if (sources.every((name) => changedAt(join(folder, name)) <= built)) return
  await build({ configFile: join(folder, 'ui/vite.config.ts') })
}

function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
