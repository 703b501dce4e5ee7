import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createSecret } from '../../base/secret.js'
import { type AdapterCase, adapterCase } from './bench.js'
import { ADAPTER_HOST_CREDENTIAL, ADAPTER_HOST_KEY, type AdapterScenario } from './scenario.js'

const CALLERS_KEY = 'sk-conformance-caller'
const ROUTES_KEY = 'sk-conformance-route'

const answer: AdapterScenario = {
  kind: 'answer',
  answer: {
    text: ['Hello'],
    toolCalls: [],
    finish: 'stop',
    usage: { prompt: 1, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 },
  },
}

/** Content parts with an address. */
const partsAt = (url: string): readonly object[] => [
  { type: 'image_url', image_url: { url } },
  { type: 'image_url', image_url: url },
  { type: 'file', file: { file_data: url, filename: 'a.pdf' } },
  { type: 'input_audio', input_audio: { data: url, format: 'wav' } },
  { type: 'video_url', video_url: { url } },
  { type: 'text', text: `Look at ${url}` },
]

export const secrecyCases: readonly AdapterCase[] = [
  adapterCase(
    'has-key',
    "an adapter that takes callers' keys reports its host's key with hasKey",
    answer,
    async ({ adapter }) => {
      if (adapter.takesKeys === true) assert.equal(adapter.hasKey, true)
    },
  ),
  adapterCase(
    'byok',
    "a call with a caller's own key sends that key and no credential of the host",
    answer,
    async ({ adapter, call, run, requests }) => {
      // The router never passes a caller's key to such an adapter.
      if (adapter.takesKeys !== true) return
      const auth = { kind: 'byok', secret: createSecret(CALLERS_KEY) } as const
      for (const stream of [true, false]) await run(call({ auth, stream }))
      assert.equal(requests.length, 2)
      for (const { text } of requests) {
        assert.ok(text.includes(CALLERS_KEY))
        assert.ok(!text.includes(ADAPTER_HOST_KEY))
        assert.ok(!text.includes(ADAPTER_HOST_CREDENTIAL))
      }
    },
  ),
  adapterCase(
    'byok-refused',
    "if the provider refuses a caller's key, the host's key is not used instead",
    { kind: 'status', status: 401, message: 'Bad key' },
    async ({ adapter, call, run, requests }) => {
      if (adapter.takesKeys !== true) return
      const { error } = await run(call({ auth: { kind: 'byok', secret: createSecret(CALLERS_KEY) } }))
      assert.equal(error?.status, 401)
      assert.equal(requests.length, 1)
      assert.ok(!requests[0]?.text.includes(ADAPTER_HOST_KEY))
    },
  ),
  adapterCase(
    'host-key',
    "a call on the host's account sends the route's key if there is one, otherwise the host's",
    answer,
    async ({ call, run, requests }) => {
      await run(call())
      await run(call({ auth: { kind: 'host', secret: createSecret(ROUTES_KEY) } }))
      const [own, routes] = requests.map(({ text }) => text)
      assert.ok(own?.includes(ADAPTER_HOST_KEY))
      assert.ok(routes?.includes(ROUTES_KEY) && !routes.includes(ADAPTER_HOST_KEY))
    },
  ),
  adapterCase('addresses', 'addresses in messages are not opened', answer, async ({ call, run }) => {
    let connections = 0
    const server = createServer((socket) => {
      connections++
      socket.destroy()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const address = server.address()
      assert.ok(typeof address === 'object' && address !== null)
      for (const scheme of ['http', 'https']) {
        for (const part of partsAt(`${scheme}://127.0.0.1:${address.port}/a.png`)) {
          const messages = [{ role: 'user', content: [part] }]
          for (const stream of [true, false]) await run(call({ stream }, { messages }))
        }
      }
      assert.equal(connections, 0)
    } finally {
      server.close()
    }
  }),
]
