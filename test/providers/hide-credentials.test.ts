import { afterEach, describe, expect, it } from 'vitest'
import type { ProviderCall } from '../../src/contracts/index.js'
import { isProviderError, type ProviderError } from '../../src/errors.js'
import { anthropic } from '../../src/providers/anthropic/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import { createSecret } from '../../src/secret.js'
import { answerJson, type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'

const HOST_KEY = 'open~"sesame"'
const ROUTE_KEY = 'route~sesame'
const CALLERS_KEY = 'callers~sesame'
const FIXED = 'fixed~sesame'

const upstreams: ScriptedUpstream[] = []
afterEach(async () => {
  for (const upstream of upstreams.splice(0)) await upstream.close()
})

/** What an adapter says of a provider that answers with all that it was sent. */
async function failure(
  adapterOf: typeof openaiCompatible | typeof anthropic,
  auth: ProviderCall['auth'],
  status = 400,
): Promise<ProviderError> {
  const upstream = await startScriptedUpstream()
  upstreams.push(upstream)
  upstream.script(async (reply, { headers }) => {
    const credential = headers.authorization ?? headers['x-api-key'] ?? ''
    const bare = credential.replace('Bearer ', '')
    const spellings = [credential, bare, Buffer.from(bare).toString('base64'), encodeURIComponent(bare)]
    const message = `You sent ${spellings.join(' and ')} and ${headers['x-proxy-token']} to ${headers['x-zone']}.`
    const error = { message, param: bare, code: 'odd' }
    const steps = answerJson({ error }, status)
    if (typeof steps === 'function') throw new Error('Steps are expected.')
    for (const step of steps) {
      if (step === 'end') reply.end()
      else if (typeof step === 'object' && 'head' in step) reply.head(step.head, step.headers)
      else if (typeof step === 'object' && 'write' in step) await reply.write(step.write)
    }
  })
  const adapter = adapterOf({
    baseUrl: upstream.baseUrl,
    apiKey: HOST_KEY,
    headers: { 'x-proxy-token': FIXED, 'x-zone': 'north' },
  })
  try {
    await adapter.chat(
      {
        request: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
        stream: false,
        auth,
        limits: { connectMs: 5_000, eventBytes: 1_000_000, replyBytes: 1_000_000 },
        signal: new AbortController().signal,
        requestId: 'call-1',
      },
      () => undefined,
    )
  } catch (error) {
    if (isProviderError(error)) return error
    throw error
  } finally {
    await adapter.close?.()
  }
  throw new Error('The call did not fail.')
}

describe.each([
  ['openaiCompatible', openaiCompatible],
  ['anthropic', anthropic],
])('what %s passes on of a refusal', (_, adapterOf) => {
  it.each([
    ['the adapter', { kind: 'host' }],
    ['the route', { kind: 'host', secret: createSecret(ROUTE_KEY) }],
    ['a caller', { kind: 'byok', secret: createSecret(CALLERS_KEY) }],
  ] as const)('holds no key of %s, in no spelling', async (_owner, auth) => {
    for (const status of [400, 401, 500]) {
      const error = await failure(adapterOf, auth, status)
      expect(error.status).toBe(status)
      expect(error.providerCode).toBe('odd')
      expect(error.providerMessage).toMatch(/^You sent .* to north\.$/)
      const shown = JSON.stringify(error.providerMessage) + error.param
      expect(shown).not.toMatch(/sesame/)
      expect(shown).not.toContain(Buffer.from(HOST_KEY).toString('base64'))
      expect(shown).not.toContain(Buffer.from(CALLERS_KEY).toString('base64'))
    }
  })
})

it('an error inside a reply is cleaned as well', async () => {
  const error = await failure(openaiCompatible, { kind: 'host' }, 200)
  expect(error.reason).toBe('error-frame')
  expect(error.providerMessage).toMatch(/^You sent .* to north\.$/)
  expect(error.providerMessage).not.toMatch(/sesame/)
})
