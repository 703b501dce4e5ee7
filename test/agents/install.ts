import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const FOLDER = import.meta.dirname

/**
 * Installs the agents if their versions have changed since they were installed. Needs the network only then. There is no
 * lockfile: each package depends on exact versions of its own programs, of which a registry may have only some.
 */
export default async function install(): Promise<void> {
  const changedAt = async (file: string) =>
    (await stat(join(FOLDER, file)).catch(() => undefined))?.mtimeMs ?? 0
  if ((await changedAt('node_modules/.package-lock.json')) >= (await changedAt('package.json'))) return
  await promisify(execFile)('npm', ['install', '--prefix', FOLDER], { cwd: FOLDER })
}
