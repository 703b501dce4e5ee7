import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../helpers/free-port.js'
import { installPeer, PORTKEY } from '../../helpers/install-peer.js'
import { startPeer } from '../peers.js'
import type { Gateway, Target, Upstream } from '../target.js'
import { PRICES, priceOf } from '../usage.js'

/**
 * The open-source gateway. Its README offers routing, fallbacks and guardrails. It lists cost management and usage
 * analytics too, but those are parts of the hosted product: the package has no prices, keeps no log of costs, and knows no
 * keys or budgets. It is a target because people choose it for a gateway, and to show that nothing can be compared.
 */
export async function portkeyTarget(): Promise<Target> {
  const directory = await installPeer(PORTKEY)
  return {
    name: 'portkey',
    version: `@portkey-ai/gateway ${PORTKEY.version}`,
    settings: [
      'npx @portkey-ai/gateway, as in its README; x-portkey-provider: openai, x-portkey-custom-host: the provider',
    ],
    policy: {
      sources: [
        'its README lists "Cost Management" with links to the documents of the hosted product; the package has no prices and no log of costs',
      ],
      owes: () => ({ unstated: true }),
      price: (usage) => priceOf(usage, PRICES),
      storedWithinMs: 0,
    },
    start: (upstream) => startPortkey(directory, upstream),
  }
}

async function startPortkey(directory: string, upstream: Upstream): Promise<Gateway> {
  const port = await freePort()
  const home = await mkdtemp(join(tmpdir(), 'compat-router-exactness-home-'))
  const peer = await startPeer({
    command: ['node_modules/@portkey-ai/gateway/build/start-server.js', '--headless', `--port=${port}`],
    directory,
    home,
    environment: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
    readyUrl: `http://127.0.0.1:${port}/`,
  })
  return {
    url: `http://127.0.0.1:${port}/v1/chat/completions`,
    model: 'gpt-4o',
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream.baseUrl },
    key: 'key-of-the-host',
    async stop() {
      await peer.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}
