import { askJson } from '../../peers.js'
import { owesReports, type Target } from '../../target.js'
import { PRICES, roundedNanos } from '../../usage.js'
import { containerTarget } from './container.js'

/**
 * NOT RUN HERE. `docker run --network host -e DATABASE_URL -e LITELLM_MASTER_KEY -e STORE_MODEL_IN_DB=True
 * ghcr.io/berriai/litellm`, as in docs.litellm.ai/docs/proxy/deploy. `EXACTNESS_ADMIN` is the master key.
 *
 * docs/proxy/virtual_keys and docs/proxy/users: keys have a spend, a `max_budget` and a `budget_duration`, and calls beyond
 * the budget are refused. docs/proxy/cost_tracking: spend is tracked for keys, users and teams for all known models. The
 * pages say nothing of calls in flight, so an excess is counted.
 */
export const litellmTarget = (): Target =>
  containerTarget({
    name: 'litellm',
    settings: ['a model from /model/new with the prices of gpt-4o, keys from /key/generate'],
    policy: {
      sources: [
        'docs.litellm.ai/docs/proxy/cost_tracking: spend is tracked for all known models',
        'docs.litellm.ai/docs/proxy/users: a key with max_budget is refused beyond it',
      ],
      owes: owesReports(['openai']),
      storedWithinMs: 60_000,
    },
    quietMs: 15_000,
    async open({ admin, upstream, url }) {
      const headers = { authorization: `Bearer ${admin}` }
      const ask = <Answer>(path: string, body?: object) =>
        askJson<Answer>(`${url}${path}`, { headers, ...(body && { method: 'POST', body }) })
      const perToken = (price: string) => Number(price) / 1e6
      await ask('/model/new', {
        model_name: 'gpt-4o',
        litellm_params: {
          model: 'openai/gpt-4o',
          api_base: upstream.baseUrl,
          api_key: 'key-of-the-host',
          input_cost_per_token: perToken(PRICES.input),
          output_cost_per_token: perToken(PRICES.output),
          cache_read_input_token_cost: perToken(PRICES.cachedInput!),
        },
      })
      const open = async (more: object = {}): Promise<string> =>
        (await ask<{ key: string }>('/key/generate', { models: ['gpt-4o'], ...more })).key
      return {
        url: `${url}/v1/chat/completions`,
        model: 'gpt-4o',
        headers: {},
        key: await open(),
        async charges() {
          const logs = await ask<readonly { spend: number; startTime: string }[]>('/spend/logs')
          return [...logs]
            .sort((one, other) => one.startTime.localeCompare(other.startTime))
            .map(({ spend }) => roundedNanos(spend))
            .filter((cost) => cost > 0n)
        },
        openCredit: (amount) => open({ max_budget: Number(amount) / 1e9 }),
        openCap: (amount) => open({ max_budget: Number(amount) / 1e9, budget_duration: '30d' }),
        openKey: () => open(),
        revoke: (key) => ask('/key/delete', { keys: [key] }),
      }
    },
  })
