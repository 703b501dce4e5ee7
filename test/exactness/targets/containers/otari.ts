import { askJson } from '../../peers.js'
import { owesReports, type Target } from '../../target.js'
import { PRICES, roundedNanos } from '../../usage.js'
import { containerTarget } from './container.js'

/**
 * NOT RUN HERE. Its `docker compose` with host networking, in standalone mode, with `providers.openai.api_base` set to the
 * scripted provider, whose port `EXACTNESS_PROVIDER_PORT` fixes. `EXACTNESS_ADMIN` is the master key.
 *
 * docs/access-control.md: "Otari reserves an estimated cost before each call and reconciles it after, so a request that
 * would exceed the cap is rejected before it runs". docs/configuration.md: a stream without usage is charged its estimate by
 * default, whose amount it does not state; a record written inline can be lost if a client leaves at the end, and
 * `log_writer_strategy: batch` is preferred for streams.
 */
export const otariTarget = (): Target =>
  containerTarget({
    name: 'otari',
    settings: ['standalone mode, OTARI_LOG_WRITER_STRATEGY=batch; a user, a budget and a key for each limit'],
    policy: {
      sources: [
        'docs/access-control.md: a request that would exceed the cap is rejected before it runs',
        'docs/configuration.md: a stream without usage is charged an estimate, of no stated amount',
      ],
      owes: owesReports(['openai']),
      storedWithinMs: 5_000,
    },
    quietMs: 5_000,
    async open({ admin, url }) {
      const headers = { 'otari-key': admin }
      const ask = <Answer>(path: string, body?: object) =>
        askJson<Answer>(`${url}/v1${path}`, { headers, ...(body && { method: 'POST', body }) })
      await ask('/pricing', {
        model_key: 'openai:gpt-4o',
        input_price_per_million: Number(PRICES.input),
        cache_read_price_per_million: Number(PRICES.cachedInput),
        output_price_per_million: Number(PRICES.output),
      })
      const ids = new Map<string, string>()
      let users = 0
      const open = async (budget?: object): Promise<string> => {
        const made =
          budget && (await ask<{ budget_id: string }>('/budgets', { name: `b${users}`, ...budget }))
        const user_id = `exactness-${process.pid}-${users++}`
        await ask('/users', { user_id, ...(made && { budget_id: made.budget_id }) })
        const { id, key } = await ask<{ id: string; key: string }>('/keys', { key_name: user_id, user_id })
        ids.set(key, id)
        return key
      }
      return {
        url: `${url}/v1/chat/completions`,
        model: 'openai:gpt-4o',
        headers: {},
        key: await open(),
        async charges() {
          const rows = await ask<readonly { cost: number | null; timestamp: string }[]>('/usage?limit=10000')
          return [...rows]
            .sort((one, other) => one.timestamp.localeCompare(other.timestamp))
            .map(({ cost }) => roundedNanos(cost ?? 0))
            .filter((cost) => cost > 0n)
        },
        openCredit: (amount) => open({ max_budget: Number(amount) / 1e9 }),
        openCap: (amount) => open({ max_budget: Number(amount) / 1e9, reset_alignment: 'calendar_month' }),
        openKey: () => open(),
        revoke: (key) => askJson(`${url}/v1/keys/${ids.get(key)}`, { method: 'DELETE', headers }),
      }
    },
  })
