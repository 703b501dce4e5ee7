import { strict as assert } from 'node:assert'
import { type AdapterCase, adapterCase } from './bench.js'

const statuses = [400, 401, 403, 404, 413, 429, 500, 503, 529]

export const failureCases: readonly AdapterCase[] = [
  ...statuses.map((status) =>
    adapterCase(
      `status-${status}`,
      `an HTTP status ${status} rejects with that status and the provider's words`,
      { kind: 'status', status, message: 'Words of the provider' },
      async ({ call, run, requests }) => {
        const { error, reply } = await run(call())
        assert.equal(error?.reason, 'status')
        assert.equal(error.status, status)
        assert.equal(error.providerMessage, 'Words of the provider')
        assert.deepEqual(reply.finishReasons, [])
        assert.equal(requests.length, 1, 'trying again is the router’s')
      },
    ),
  ),
  adapterCase(
    'status-json',
    'an HTTP error status rejects alike where no stream is asked for',
    { kind: 'status', status: 400, message: 'Words of the provider' },
    async ({ call, run }) => {
      const { error } = await run(call({ stream: false }))
      assert.equal(error?.reason, 'status')
      assert.equal(error.providerMessage, 'Words of the provider')
    },
  ),
  adapterCase(
    'retry-after',
    'how long the provider wants to be left alone is handed over in seconds',
    { kind: 'status', status: 429, message: 'Slow down', retryAfterSeconds: 7 },
    async ({ call, run }) => {
      const { error } = await run(call())
      assert.equal(error?.retryAfterSeconds, 7)
    },
  ),
  adapterCase(
    'error-frame',
    'an error inside a stream hands over what came before it, and rejects',
    { kind: 'error-frame', text: ['Some ', 'text'], message: 'Words of the provider' },
    async ({ call, run }) => {
      const { error, reply } = await run(call())
      assert.equal(error?.reason, 'error-frame')
      assert.equal(error.providerMessage, 'Words of the provider')
      assert.equal(reply.text, 'Some text')
      assert.deepEqual(reply.finishReasons, [])
    },
  ),
  ...(['broken', 'ended'] as const).map((how) =>
    adapterCase(
      `cut-short-${how}`,
      `a stream that ends without the provider's last word (${how}) never passes for a whole one`,
      { kind: 'cut-short', text: ['Some ', 'text'], how },
      async ({ call, run }) => {
        const { error, terminated, reply } = await run(call())
        assert.equal(reply.text, 'Some text')
        assert.deepEqual(reply.finishReasons, [])
        assert.notEqual(terminated, true)
        assert.ok(error === undefined || ['cut-short', 'invalid-response'].includes(error.reason))
      },
    ),
  ),
  adapterCase(
    'cut-short-json',
    'half a reply in one body rejects',
    { kind: 'cut-short', text: ['Some text'], how: 'broken' },
    async ({ call, run }) => {
      const { error, reply } = await run(call({ stream: false }))
      assert.ok(error !== undefined && ['cut-short', 'invalid-response'].includes(error.reason))
      assert.equal(reply.text, '')
    },
  ),
  ...[true, false].map((stream) =>
    adapterCase(
      stream ? 'nonsense-stream' : 'nonsense-json',
      `what is no reply rejects as invalid where ${stream ? 'a stream' : 'one body'} is asked for`,
      { kind: 'nonsense' },
      async ({ call, run }) => {
        const { error, reply } = await run(call({ stream }))
        assert.ok(reply.hasNonsense || error?.reason === 'invalid-response')
      },
    ),
  ),
  adapterCase(
    'unreachable',
    'a provider that cannot be reached rejects so, and nothing is handed over',
    { kind: 'unreachable' },
    async ({ call, run }) => {
      const { error } = await run(call(), () => assert.fail('something was handed over'))
      assert.equal(error?.reason, 'unreachable')
    },
  ),
]
