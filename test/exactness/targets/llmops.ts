import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from '../../helpers/free-port.js'
import { installPeer, LLMOPS } from '../../helpers/install-peer.js'
import { startLlmopsPrices } from '../../helpers/llmops-prices.js'
import { type PostgresServer, startPostgresServer } from '../../helpers/postgres-server.js'
import { type PeerProcess, startPeer, untilQuiet } from '../peers.js'
import type { LlmopsSetup } from '../programs/llmops-host.js'
import { type Gateway, owesReports, type Target, type Upstream } from '../target.js'
import { PRICES, priceOf } from '../usage.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const REDIRECT = new URL('../programs/redirect.ts', import.meta.url).href
const HOST = fileURLToPath(new URL('../programs/llmops-host.ts', import.meta.url))
/** Longer than its documented `flushIntervalMs` of 2,000. */
const FLUSHED_MS = 2_500
const NANOS_A_MICRO = 1_000n

/**
 * Set up by its quickstart: Express, a PostgreSQL pool, a provider of kind `openai`. Its handbook promises that "every
 * request through LLMOps is automatically logged" with tokens and a cost in micro-dollars, and that costs are calculated
 * "for each request using up-to-date pricing data"; "Performance" gives the time that a log waits in memory. It documents
 * no budgets, no credit and no key that stops working.
 */
export async function llmopsTarget(): Promise<Target> {
  const directory = await installPeer(LLMOPS)
  return {
    name: 'llmops',
    version: `@llmops/sdk ${LLMOPS.version}`,
    settings: [
      'docs/quickstart: Express and its middleware, a pg Pool, default options; one provider of kind openai, model @openai/gpt-4o',
      'its price list (models.llmops.build) is served by this machine, with the list prices of gpt-4o',
    ],
    policy: {
      sources: [
        'docs/handbook/observability, "Automatic Request Logging": every request is logged with its tokens and its cost',
        'docs/handbook/observability, "Performance": logs wait in memory for up to 2 s',
      ],
      owes: owesReports(['openai']),
      price: (usage) => priceOf(usage, PRICES),
      storedWithinMs: FLUSHED_MS,
    },
    start: (upstream) => startLlmops(directory, upstream),
  }
}

async function startLlmops(directory: string, upstream: Upstream): Promise<Gateway> {
  const home = await mkdtemp(join(tmpdir(), 'compat-router-exactness-home-'))
  const prices = await startLlmopsPrices({ ...PRICES, cachedInput: PRICES.cachedInput! })
  const database = await startPostgresServer()
  const pool = new pg.Pool({ connectionString: database.url() })
  // The database may close an idle connection when it stops.
  pool.on('error', () => undefined)
  const port = await freePort()
  const start = () =>
    startHost({ directory, port, database: database.url(), upstream: upstream.baseUrl }, home, prices.port)
  let peer = await start()
  return {
    url: `http://127.0.0.1:${port}/llmops/api/genai/v1/chat/completions`,
    model: '@openai/gpt-4o',
    headers: {},
    key: 'environment-secret',
    charges: () => untilQuiet(() => costsIn(pool), FLUSHED_MS),
    async killAndRestart() {
      await peer.kill()
      peer = await start()
    },
    stop: () => stopAll(peer, pool, database, prices.close, home),
  }
}

function startHost(setup: LlmopsSetup, home: string, pricePort: number): Promise<PeerProcess> {
  return startPeer({
    command: ['--import', 'tsx', '--import', REDIRECT, HOST, JSON.stringify(setup)],
    directory: ROOT,
    home,
    environment: {
      BETTER_AUTH_SECRET: 'a secret of thirty-two characters',
      EXACTNESS_REDIRECT: JSON.stringify({ 'models.llmops.build': pricePort }),
    },
    readyUrl: `http://127.0.0.1:${setup.port}/llmops/`,
  })
}

async function stopAll(
  peer: PeerProcess,
  pool: pg.Pool,
  database: PostgresServer,
  closePrices: () => void,
  home: string,
): Promise<void> {
  await peer.stop()
  await pool.end()
  await database.stop()
  closePrices()
  await rm(home, { recursive: true, force: true })
}

async function costsIn(pool: pg.Pool): Promise<readonly bigint[]> {
  const { rows } = await pool.query(
    'select cost from llmops.llm_requests where cost > 0 order by "createdAt"',
  )
  return rows.map(({ cost }: { cost: string }) => BigInt(cost) * NANOS_A_MICRO)
}
