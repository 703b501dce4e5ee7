import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPeer, LLMKIT, LLMOPS, type PeerPackages, PORTKEY } from '../../helpers/install-peer.js'
import { startLlmopsPrices } from '../../helpers/llmops-prices.js'
import { startPostgresServer } from '../../helpers/postgres-server.js'
import { PEER_NAMES, type PeerHostSetup, type PeerName } from './messages.js'
import { UPSTREAM_MODEL } from './names.js'
import { type Program, type ProgramOptions, startProgram } from './program.js'
import type { Target } from './systems.js'

interface Peer {
  readonly packages: PeerPackages
  /** @param directory where its packages are installed */
  start(directory: string, upstreamPort: number): Promise<Omit<Target, 'name'>>
}

const PATH = '/v1/chat/completions'
const PRICES = { input: '0.15', output: '0.60', cachedInput: '0.075' }
const PORTKEY_ENTRY = 'node_modules/@portkey-ai/gateway/build/start-server.js'

const PEERS: Readonly<Record<PeerName, Peer>> = {
  'express-proxy': {
    packages: {
      name: 'http-proxy-middleware',
      // Version 4 does not run on Node 20.
      version: '3.0.11',
      dependencies: { 'http-proxy-middleware': '3.0.11', express: '5.3.0' },
    },
    start: (directory, upstreamPort) => startHost({ kind: 'express-proxy', directory, upstreamPort }),
  },
  'fastify-proxy': {
    packages: {
      name: 'fastify-http-proxy',
      version: '11.6.3',
      dependencies: { '@fastify/http-proxy': '11.6.3', fastify: '5.12.8' },
    },
    start: (directory, upstreamPort) => startHost({ kind: 'fastify-proxy', directory, upstreamPort }),
  },
  portkey: { packages: PORTKEY, start: startPortkey },
  llmkit: {
    packages: LLMKIT,
    start: (directory, upstreamPort) => startHost({ kind: 'llmkit', directory, upstreamPort }),
  },
  llmops: { packages: LLMOPS, start: startLlmops },
}

export function isPeerName(name: string): name is PeerName {
  return PEER_NAMES.includes(name as PeerName)
}

/** Installs a peer into a temporary folder, once for all runs. Returns how it is started. */
export async function preparePeer(name: PeerName): Promise<(upstreamPort: number) => Promise<Target>> {
  const { packages, start } = PEERS[name]
  const directory = await installPeer(packages)
  return async (upstreamPort) => ({ name, ...(await start(directory, upstreamPort)) })
}

async function startPortkey(directory: string, upstreamPort: number): Promise<Omit<Target, 'name'>> {
  const program = await startPeer([join(directory, PORTKEY_ENTRY), '--headless'], {
    directory,
    environment: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
  })
  return {
    ...targetOf(program),
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
    },
  }
}

/** Its PostgreSQL server runs on any core, and does not count. */
async function startLlmops(directory: string, upstreamPort: number): Promise<Omit<Target, 'name'>> {
  const prices = await startLlmopsPrices(PRICES)
  const database = await startPostgresServer()
  const closeAll = async (): Promise<void> => {
    prices.close()
    await database.stop()
  }
  const setup = {
    directory,
    port: 0,
    database: database.url(),
    upstream: `http://127.0.0.1:${upstreamPort}/v1`,
  }
  try {
    const program = await startPeer([...redirected(), fileOf('llmops-host'), JSON.stringify(setup)], {
      environment: {
        BETTER_AUTH_SECRET: 'a secret of thirty-two characters',
        EXACTNESS_REDIRECT: JSON.stringify({ 'models.llmops.build': prices.port }),
      },
    })
    return {
      ...targetOf(program),
      path: '/llmops/api/genai/v1/chat/completions',
      headers: { authorization: 'Bearer environment-secret' },
      model: `@openai/${UPSTREAM_MODEL}`,
      async stop() {
        await program.stop()
        await closeAll()
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

async function startHost(setup: PeerHostSetup): Promise<Omit<Target, 'name'>> {
  const program = await startPeer([...redirected(), fileOf('peer-host'), JSON.stringify(setup)], {
    environment: { EXACTNESS_REDIRECT: JSON.stringify({ 'api.openai.com': setup.upstreamPort }) },
  })
  return targetOf(program)
}

function startPeer(
  nodeArguments: readonly string[],
  options: Pick<ProgramOptions, 'directory' | 'environment'>,
): Promise<Program> {
  const loopback = new URL('./loopback.js', import.meta.url).href
  const command = [process.execPath, '--import', loopback, ...nodeArguments]
  return startProgram({ command, core: 'system', ...options })
}

function redirected(): string[] {
  return ['--import', new URL('./redirect.js', import.meta.url).href]
}

function fileOf(program: string): string {
  return fileURLToPath(new URL(`./${program}.js`, import.meta.url))
}

function targetOf(program: Program): Omit<Target, 'name'> {
  const { port } = program.ready as { port: number }
  return { port, path: PATH, headers: {}, model: UPSTREAM_MODEL, program, stop: () => program.stop() }
}
