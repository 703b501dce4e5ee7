import { askJson } from '../../peers.js'
import { owesReports, type Target } from '../../target.js'
import { roundedNanos } from '../../usage.js'
import { containerTarget } from './container.js'

const PAGE = 100

/**
 * NOT RUN HERE. The unified image of docs.llmgateway.io/self-host with host networking. Sign up on its page, add a provider
 * key of kind `openai` with the scripted provider as its base URL (`EXACTNESS_PROVIDER_PORT` fixes its port), and set the
 * project to use provider keys. `EXACTNESS_ADMIN` is the cookie of that session, `EXACTNESS_PROJECT` the id of the project,
 * `EXACTNESS_URL` the address of the API (4002 by default), `EXACTNESS_GATEWAY_URL` that of the gateway (4001).
 *
 * docs.llmgateway.io, "Overview": "All this data is automatically collected": tokens and cost of each request. Credit belongs
 * to an organisation and is bought by card, so its adapter opens none; a self-hosted gateway documents no cap for a key.
 */
export const llmgatewayTarget = (): Target =>
  containerTarget({
    name: 'llmgateway',
    settings: ['the unified image, a provider key with a base URL, a project in the mode api-keys'],
    policy: {
      sources: [
        'docs.llmgateway.io, "Overview": tokens and costs of all requests are collected automatically',
      ],
      owes: owesReports(['openai']),
      storedWithinMs: 10_000,
    },
    quietMs: 10_000,
    async open({ admin, url }) {
      const headers = { cookie: admin }
      const { EXACTNESS_GATEWAY_URL: gateway = 'http://127.0.0.1:4001', EXACTNESS_PROJECT: projectId } =
        process.env
      const ask = <Answer>(path: string, method = 'GET', body?: object) =>
        askJson<Answer>(`${url}${path}`, { method, headers, ...(body && { body }) })
      const ids = new Map<string, string>()
      const open = async (): Promise<string> => {
        const description = `exactness ${ids.size}`
        const { apiKey } = await ask<{ apiKey: { id: string; token: string } }>('/keys/api', 'POST', {
          description,
          projectId,
        })
        ids.set(apiKey.token, apiKey.id)
        return apiKey.token
      }
      interface Page {
        readonly logs: readonly { readonly cost: number | null }[]
        readonly pagination: { readonly nextCursor: string | null }
      }
      return {
        url: `${gateway}/v1/chat/completions`,
        model: 'openai/gpt-4o',
        headers: {},
        key: await open(),
        async charges() {
          const costs: bigint[] = []
          let cursor = ''
          for (;;) {
            const path = `/logs?projectId=${projectId}&orderBy=createdAt_asc&limit=${PAGE}${cursor}`
            const { logs, pagination } = await ask<Page>(path)
            costs.push(...logs.map(({ cost }) => roundedNanos(cost ?? 0)))
            if (pagination.nextCursor === null) return costs.filter((cost) => cost > 0n)
            cursor = `&cursor=${pagination.nextCursor}`
          }
        },
        openKey: open,
        revoke: (key) => ask(`/keys/api/${ids.get(key)}`, 'PATCH', { status: 'inactive' }),
      }
    },
  })
