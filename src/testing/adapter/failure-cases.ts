import { strict as assert } from 'node:assert'
import { type AdapterCase, adapterCase } from './bench.js'

const statuses = [400, 401, 403, 404, 413, 429, 500, 503, 529]

export const failureCases: readonly AdapterCase[] = [
  ...statuses.map((status) =>
    adapterCase(
      `status-${status}`,
      `an HTTP status ${status} rejects with that status and the provider's message`,
      { kind: 'status', status, message: 'Words of the provider' },
      async ({ call, run, requests }) => {
        const { error, reply } = await run(call())
        assert.equal(error?.reason, 'status')
        assert.equal(error.status, status)
        assert.equal(error.providerMessage, 'Words of the provider')
        assert.deepEqual(reply.finishReasons, [])
        assert.equal(requests.length, 1, 'an adapter must leave retries to the router')
      },
    ),
  ),
  adapterCase(
    'status-code',
    'the machine-readable code of a refusal is passed on, so that clients see why',
    { kind: 'status', status: 403, message: 'Words of the provider', code: 'content_policy_violation' },
    async ({ call, run }) => {
      const { error } = await run(call())
      assert.equal(error?.providerCode, 'content_policy_violation')
    },
  ),
  adapterCase(
    'status-json',
    'an HTTP error status rejects in the same way if no stream is requested',
    { kind: 'status', status: 400, message: 'Words of the provider' },
    async ({ call, run }) => {
      const { error } = await run(call({ stream: false }))
      assert.equal(error?.reason, 'status')
      assert.equal(error.providerMessage, 'Words of the provider')
    },
  ),
  adapterCase(
    'retry-after',
    'the provider’s Retry-After is passed on in seconds',
    { kind: 'status', status: 429, message: 'Slow down', retryAfterSeconds: 7 },
    async ({ call, run }) => {
      const { error } = await run(call())
      assert.equal(error?.retryAfterSeconds, 7)
    },
  ),
  adapterCase(
    'error-frame',
    'an error inside a stream rejects, after the content before it was passed on',
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
      `a stream cut short (${how}) is never reported as complete`,
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
    'a JSON reply cut short rejects',
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
      `an invalid reply rejects as invalid if ${stream ? 'a stream' : 'JSON'} is requested`,
      { kind: 'nonsense' },
      async ({ call, run }) => {
        const { error, reply } = await run(call({ stream }))
        assert.ok(reply.hasNonsense || error?.reason === 'invalid-response')
      },
    ),
  ),
  adapterCase(
    'unreachable',
    'an unreachable provider rejects as unreachable, without any content',
    { kind: 'unreachable' },
    async ({ call, run }) => {
      const { error } = await run(call(), () => assert.fail('take was called'))
      assert.equal(error?.reason, 'unreachable')
    },
  ),
]
