import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export interface PeerPackages {
  /** Names the folder, together with the version. */
  readonly name: string
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly overrides?: Readonly<Record<string, string>>
  /** Packages whose install scripts build something that the peer needs. */
  readonly built?: readonly string[]
}

/** The packages of peers that more than one command installs. */
export const PORTKEY: PeerPackages = {
  name: 'portkey',
  version: '1.15.2',
  dependencies: { '@portkey-ai/gateway': '1.15.2' },
  // With later versions of this adapter its streams fail on Node 20, with `TypeError: immutable`.
  overrides: { '@hono/node-server': '1.3.3' },
}
export const LLMKIT: PeerPackages = {
  name: 'llmkit',
  version: '0.0.10',
  dependencies: { '@f3d1/llmkit-cli': '0.0.10' },
}
export const LLMOPS: PeerPackages = {
  name: 'llmops',
  version: '0.6.10',
  dependencies: { '@llmops/sdk': '0.6.10', express: '5.3.0', pg: '8.23.1' },
}

const INSTALL_PATIENCE_MS = 900_000
const run = promisify(execFile)

/** Installs pinned packages into a temporary folder, once for all runs, without install scripts. Returns the folder. */
export async function installPeer(packages: PeerPackages): Promise<string> {
  const { built = [], dependencies, name, overrides = {}, version } = packages
  const directory = join(tmpdir(), `compat-router-peer-${name}-${version}`)
  const mark = join(directory, 'installed')
  if (existsSync(mark)) return directory
  process.stderr.write(`installing ${name} ${version} into ${directory}\n`)
  await mkdir(directory, { recursive: true })
  const manifest = { name: 'peer', private: true, dependencies, overrides }
  await writeFile(join(directory, 'package.json'), JSON.stringify(manifest))
  const options = { cwd: directory, timeout: INSTALL_PATIENCE_MS, env: { ...process.env, ...headers() } }
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], options)
  if (built.length > 0) await run('npm', ['rebuild', ...built], options)
  await writeFile(mark, '')
  return directory
}

/** Native modules are compiled against the headers of this Node if it has them, so that nothing is downloaded for it. */
function headers(): Record<string, string> {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, 'include/node/node.h')) ? { npm_config_nodedir: prefix } : {}
}
