import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../helpers/free-port.js'
import { installPeer } from '../../helpers/install-peer.js'
import { askJson, startPeer, untilQuiet } from '../peers.js'
import { PROMPT } from '../provider.js'
import { type Gateway, owesReports, type Target, type Upstream } from '../target.js'
import { PRICES, priceOf, roundedNanos } from '../usage.js'

const VERSION = '2.0.0'
const REDIRECT = new URL('../programs/redirect.ts', import.meta.url).href
const TSX = new URL('../../../node_modules/tsx/dist/loader.mjs', import.meta.url).href
/** It writes ten records at once, or after five seconds. Its documentation gives no time. */
const BATCH_MS = 5_500
const BUFFER = 0.000001
/** Its rate limit, which cannot be set. */
const CALLS_A_MINUTE = 100
const MINUTE_MS = 61_000
/** The most rows of a page of its API. */
const PAGE = 100
const OUTPUT_A_PROMPT = 3

/**
 * Set up by its README: `npx llm-observer start`, calls to `/v1/openai`. It says that "every proxied request is intercepted,
 * logged, costed", that the proxy "can hard-block new requests" when a budget is spent, and that "requests are
 * cost-estimated before execution to prevent budget overshoot". Its prices have none for cached tokens.
 */
export async function llmObserverTarget(): Promise<Target> {
  const directory = await installPeer({
    name: 'llm-observer',
    version: VERSION,
    dependencies: { 'llm-observer': VERSION, '@anthropic-ai/sdk': '1.14.0' },
    built: ['better-sqlite3'],
  })
  return {
    name: 'llm-observer',
    version: `llm-observer ${VERSION}`,
    settings: [
      'README, "Quick start": its server with default options; provider openai, model gpt-4o from its own price list',
      'a global monthly budget with its kill switch, a safety buffer of 0.000001 and the default estimate of 3 output tokens a prompt token',
      'connections to api.openai.com go to the scripted provider, because its address cannot be set',
      'at most 100 calls at once, after a minute without calls: its rate limit is 100 calls a minute',
      '@anthropic-ai/sdk 1.14.0 is installed too: it does not start without this package, which it does not declare',
    ],
    policy: {
      sources: [
        'README, "How it works": every proxied request is intercepted, logged, costed',
        'README, "Budget guard": when spend hits the limit, the proxy can hard-block new requests',
        'README of the repository, "Pre-Estimation": requests are estimated before execution to prevent budget overshoot',
        'a cached prompt costs as much as any other: its price list has no price for cached tokens',
      ],
      owes: owesReports(['openai']),
      price: ({ completion, prompt }) => priceOf({ prompt, cached: 0, completion }, PRICES),
      storedWithinMs: BATCH_MS,
    },
    start: (upstream) => startObserver(directory, upstream),
  }
}

async function startObserver(directory: string, upstream: Upstream): Promise<Gateway> {
  const home = await mkdtemp(join(tmpdir(), 'compat-router-exactness-home-'))
  const proxyPort = await freePort()
  const dashboardPort = await freePort()
  const dashboard = `http://127.0.0.1:${dashboardPort}/api`
  const start = () =>
    startPeer({
      command: ['--import', TSX, '--import', REDIRECT, 'node_modules/llm-observer/dist/server.js'],
      directory,
      home,
      environment: {
        LLM_OBSERVER_PROXY_PORT: String(proxyPort),
        LLM_OBSERVER_PORT: String(dashboardPort),
        OPENAI_API_KEY: 'key-of-the-host',
        EXACTNESS_REDIRECT: JSON.stringify({ 'api.openai.com': upstream.port }),
      },
      readyUrl: `http://127.0.0.1:${proxyPort}/health`,
    })
  let peer = await start()
  const keys = new Map<string, string>()
  const openKey = async (): Promise<string> => {
    const body = { name: `exactness ${keys.size}` }
    const { data } = await askJson<{ data: { id: string; apiKey: string } }>(`${dashboard}/auth/keys`, {
      method: 'POST',
      body,
    })
    keys.set(data.apiKey, data.id)
    return data.apiKey
  }
  const charges = () => untilQuiet(() => costsIn(dashboard), BATCH_MS)
  const budgets: number[] = []
  const key = await openKey()
  return {
    url: `http://127.0.0.1:${proxyPort}/v1/openai/chat/completions`,
    model: 'gpt-4o',
    headers: {},
    key,
    charges,
    callsAtOnce: CALLS_A_MINUTE,
    untilRested: () => sleep(MINUTE_MS),
    // A call is admitted if its estimate, of the prompt and three times as much output, does not reach the limit.
    async reserve() {
      const prompt = Math.ceil(PROMPT.length / 4)
      return (
        priceOf({ prompt, cached: 0, completion: prompt * OUTPUT_A_PROMPT }, PRICES) + roundedNanos(BUFFER)
      )
    },
    async openCap(amount) {
      const spent = (await charges()).reduce((sum, each) => sum + each, 0n)
      const body = {
        name: 'exactness',
        scope: 'global',
        period: 'monthly',
        limit_usd: Number(spent + amount) / 1e9,
        kill_switch: true,
        safety_buffer_usd: BUFFER,
      }
      const { id } = await askJson<{ id: number }>(`${dashboard}/budgets`, { method: 'POST', body })
      budgets.push(id)
      return key
    },
    async liftLimits() {
      for (const id of budgets.splice(0)) await askJson(`${dashboard}/budgets/${id}`, { method: 'DELETE' })
    },
    openKey,
    async revoke(revoked) {
      await askJson(`${dashboard}/auth/keys/${keys.get(revoked)}`, { method: 'DELETE' })
    },
    async killAndRestart() {
      await peer.kill()
      peer = await start()
    },
    async stop() {
      await peer.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Reads the pages of its API, whose first is the newest. */
async function costsIn(dashboard: string): Promise<readonly bigint[]> {
  const costs: bigint[] = []
  for (let page = 1; ; page++) {
    const { data } = await askJson<{ data: readonly { cost_usd: number }[] }>(
      `${dashboard}/requests?limit=${PAGE}&page=${page}`,
    )
    costs.push(...data.map(({ cost_usd }) => roundedNanos(cost_usd)))
    if (data.length < PAGE) return costs.filter((cost) => cost > 0n).reverse()
  }
}
