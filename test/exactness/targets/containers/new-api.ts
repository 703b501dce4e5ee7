import { askJson } from '../../peers.js'
import { owesReports, type Target } from '../../target.js'
import { containerTarget } from './container.js'

/** 500,000 units of its quota are one dollar. */
const NANOS_A_UNIT = 2_000n
const PAGE = 100

/**
 * NOT RUN HERE. `docker run --network host calciumion/new-api`, as in docs.newapi.pro. `EXACTNESS_ADMIN` is the access token
 * of its root user (id 1), from the page of the account. Its built-in ratios price gpt-4o at its list price.
 *
 * docs.newapi.pro, "Token Management": "Remaining Quota: limits the maximum quota this token can consume; auto-disabled when
 * exceeded". It pre-consumes an estimate of each call and settles the difference afterwards. It has no monthly cap.
 */
export const newApiTarget = (): Target =>
  containerTarget({
    name: 'new-api',
    settings: ['a channel of type OpenAI in front of the scripted provider, tokens with a remaining quota'],
    policy: {
      sources: ['docs.newapi.pro, "Token Management": the remaining quota limits what a token can consume'],
      owes: owesReports(['openai']),
      storedWithinMs: 5_000,
    },
    quietMs: 5_000,
    async open({ admin, upstream, url }) {
      const headers = { authorization: admin, 'new-api-user': '1' }
      const ask = <Data>(path: string, method = 'GET', body?: object) =>
        askJson<{ data: Data }>(`${url}/api${path}`, { method, headers, ...(body && { body }) })
      const channel = {
        name: 'scripted',
        type: 1,
        key: 'key-of-the-host',
        base_url: upstream.baseUrl.replace(/\/v1$/, ''),
        models: 'gpt-4o',
        group: 'default',
        groups: ['default'],
      }
      await ask('/channel/', 'POST', { mode: 'single', channel })
      interface Token {
        readonly id: number
        readonly name: string
        readonly key: string
      }
      const ids = new Map<string, number>()
      const open = async (quota?: bigint): Promise<string> => {
        const name = `exactness-${process.pid}-${ids.size}`
        const limit = quota === undefined ? { unlimited_quota: true } : { remain_quota: Number(quota) }
        await ask('/token/', 'POST', { name, expired_time: -1, ...limit })
        const { data } = await ask<{ items: readonly Token[] }>(`/token/?p=1&page_size=${PAGE}`)
        const token = data.items.find((each) => each.name === name)!
        ids.set(`sk-${token.key}`, token.id)
        return `sk-${token.key}`
      }
      return {
        url: `${url}/v1/chat/completions`,
        model: 'gpt-4o',
        headers: {},
        key: await open(),
        async charges() {
          const costs: bigint[] = []
          for (let page = 1; ; page++) {
            const path = `/log/?type=2&p=${page}&page_size=${PAGE}`
            const { data } = await ask<{ items: readonly { quota: number }[] }>(path)
            costs.push(...data.items.map(({ quota }) => BigInt(quota) * NANOS_A_UNIT))
            if (data.items.length < PAGE) return costs.filter((cost) => cost > 0n).reverse()
          }
        },
        openCredit: (amount) => open(amount / NANOS_A_UNIT),
        openKey: () => open(),
        revoke: async (key) => void (await ask(`/token/${ids.get(key)}`, 'DELETE')),
      }
    },
  })
