import { askJson } from '../../peers.js'
import { owesReports, type Target } from '../../target.js'
import { roundedNanos } from '../../usage.js'
import { containerTarget } from './container.js'

/**
 * NOT RUN HERE. `docker run --network host maximhq/bifrost`, as in docs.getbifrost.ai, with a log store. Its administration
 * needs no credential by default; `EXACTNESS_ADMIN` is sent as a bearer token. (`npx @maximhq/bifrost` downloads a binary.)
 *
 * docs.getbifrost.ai, features/governance/budget-and-limits: virtual keys have budgets with a `max_limit` in dollars and a
 * `reset_duration`, and a call beyond any of them is refused. The page says nothing of calls in flight, so an excess is
 * counted. Its costs come from its own price list.
 */
export const bifrostTarget = (): Target =>
  containerTarget({
    name: 'bifrost',
    settings: ['provider openai with network_config.base_url, virtual keys with a budget'],
    policy: {
      sources: [
        'docs.getbifrost.ai/features/governance/budget-and-limits: comprehensive cost control by budgets',
      ],
      owes: owesReports(['openai']),
      storedWithinMs: 10_000,
    },
    quietMs: 10_000,
    async open({ admin, upstream, url }) {
      const headers = { authorization: `Bearer ${admin}` }
      const ask = <Answer>(path: string, method = 'GET', body?: object) =>
        askJson<Answer>(`${url}/api${path}`, { method, headers, ...(body && { body }) })
      await ask('/providers', 'POST', {
        provider: 'openai',
        keys: [{ name: 'scripted', value: 'key-of-the-host', models: ['*'], weight: 1 }],
        network_config: { base_url: upstream.baseUrl.replace(/\/v1$/, '') },
      })
      const ids = new Map<string, string>()
      const open = async (budget?: object): Promise<string> => {
        const { virtual_key } = await ask<{ virtual_key: { id: string; value: string } }>(
          '/governance/virtual-keys',
          'POST',
          {
            name: `exactness-${process.pid}-${ids.size}`,
            is_active: true,
            provider_configs: [{ provider: 'openai', weight: 1, allowed_models: ['*'], key_ids: ['*'] }],
            ...(budget !== undefined && { budget }),
          },
        )
        ids.set(virtual_key.value, virtual_key.id)
        return virtual_key.value
      }
      return {
        url: `${url}/v1/chat/completions`,
        model: 'openai/gpt-4o',
        headers: {},
        key: await open(),
        async charges() {
          const { logs } = await ask<{ logs: readonly { cost?: number; timestamp: string }[] }>(
            '/logs?limit=10000',
          )
          return [...logs]
            .sort((one, other) => one.timestamp.localeCompare(other.timestamp))
            .map(({ cost }) => roundedNanos(cost ?? 0))
            .filter((cost) => cost > 0n)
        },
        openCap: (amount) => open({ max_limit: Number(amount) / 1e9, reset_duration: '1M' }),
        openKey: () => open(),
        revoke: (key) => ask(`/governance/virtual-keys/${ids.get(key)}`, 'PUT', { is_active: false }),
      }
    },
  })
