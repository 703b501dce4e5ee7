import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startProgram } from './program.js'
import type { Target } from './systems.js'

const VERSION = '1.15.2'
const ENTRY = 'node_modules/@portkey-ai/gateway/build/start-server.js'
const INSTALL_PATIENCE_MS = 240_000

/** Installs the gateway for comparison into a temporary folder, once for all runs. Returns the folder. */
export async function preparePortkey(): Promise<string> {
  const directory = join(tmpdir(), `compat-router-bench-portkey-${VERSION}`)
  if (existsSync(join(directory, ENTRY))) return directory
  process.stderr.write(`installing @portkey-ai/gateway ${VERSION} into ${directory}\n`)
  await mkdir(directory, { recursive: true })
  const manifest = {
    name: 'bench-peer',
    private: true,
    dependencies: { '@portkey-ai/gateway': VERSION },
    // With later versions of this adapter its streams fail on Node 20, with `TypeError: immutable`.
    overrides: { '@hono/node-server': '1.3.3' },
  }
  await writeFile(join(directory, 'package.json'), JSON.stringify(manifest))
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: directory,
    timeout: INSTALL_PATIENCE_MS,
  })
  return directory
}

export async function startPortkey(directory: string, upstreamPort: number, model: string): Promise<Target> {
  const program = await startProgram({
    command: [
      process.execPath,
      '--import',
      new URL('./loopback.js', import.meta.url).href,
      fileURLToPath(new URL(`file://${join(directory, ENTRY)}`)),
      '--headless',
    ],
    core: 'system',
    directory,
    environment: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
  })
  return {
    name: 'portkey',
    port: (program.ready as { port: number }).port,
    path: '/v1/chat/completions',
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
    },
    model,
    program,
    stop: () => program.stop(),
  }
}
