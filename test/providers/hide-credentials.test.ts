import { afterEach, describe, expect, it } from 'vitest'
import { isProviderError, type ProviderError } from '../../src/base/errors.js'
import { createSecret } from '../../src/base/secret.js'
import type { ProviderCall } from '../../src/contracts/index.js'
import { anthropic } from '../../src/providers/anthropic/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import { ask } from '../../src/testing/adapter/ask.js'
import { answerJson, type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'

const HOST_KEY = 'open~"sesame"'
const ROUTE_KEY = 'route~sesame'
const CALLERS_KEY = 'callers~sesame'
const FIXED = 'fixed~sesame'

const upstreams: ScriptedUpstream[] = []
afterEach(async () => {
  for (const upstream of upstreams.splice(0)) await upstream.close()
})

type Said = { readonly message: string; readonly param: string; readonly code: string }

/**
 * Returns an adapter's failure for a provider whose error is made from the credential and the fixed header that it
 * received.
 */
async function failure(
  adapterOf: typeof openaiCompatible | typeof anthropic,
  auth: ProviderCall['auth'],
  say: (credential: string, fixed: string) => Said,
  { status = 400, apiKey = HOST_KEY, fixed = FIXED } = {},
): Promise<ProviderError> {
  const upstream = await startScriptedUpstream()
  upstreams.push(upstream)
  upstream.script(async (reply, { headers }) => {
    const credential = headers.authorization ?? headers['x-api-key'] ?? ''
    const error = say(credential.replace('Bearer ', ''), String(headers['x-proxy-token']))
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
    apiKey,
    headers: { 'x-proxy-token': fixed },
  })
  try {
    await ask(
      adapter,
      {
        request: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
        stream: false,
        auth,
        timeouts: { connectMs: 5_000 },
        sizes: { eventBytes: 1_000_000, replyBytes: 1_000_000 },
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

const shown = (error: ProviderError) => [error.providerMessage, error.param, error.providerCode]

describe.each([
  ['openaiCompatible', openaiCompatible],
  ['anthropic', anthropic],
])('a refusal passed on by %s', (_, adapterOf) => {
  it.each([
    ['the adapter', { kind: 'host' }],
    ['the route', { kind: 'host', secret: createSecret(ROUTE_KEY) }],
    ['a caller', { kind: 'byok', secret: createSecret(CALLERS_KEY) }],
  ] as const)(
    'contains no key of %s, in any spelling, and nothing of the text around it',
    async (_owner, auth) => {
      const spellings: readonly ((key: string) => string)[] = [
        (key) => key,
        (key) => JSON.stringify(key),
        (key) => Buffer.from(key).toString('base64'),
        encodeURIComponent,
        (key) => [...key.toUpperCase()].join(' '),
        (key) => [...key].join('\u200b'),
        (key) => key.slice(2),
      ]
      for (const [index, spell] of spellings.entries()) {
        const say = (key: string) => ({ message: `You sent ${spell(key)}.`, param: 'top_k', code: 'odd' })
        const error = await failure(adapterOf, auth, say, { status: [400, 401, 500][index % 3]! })
        expect(shown(error)).toEqual([undefined, 'top_k', 'odd'])
      }
      const say = (key: string) => ({ message: 'Bad top_k.', param: key, code: key })
      expect(shown(await failure(adapterOf, auth, say))).toEqual(['Bad top_k.', undefined, undefined])
    },
  )

  it("contains no credential from the host's headers", async () => {
    const say = (_key: string, fixed: string) => ({
      message: `You sent ${fixed}.`,
      param: fixed,
      code: 'odd',
    })
    expect(shown(await failure(adapterOf, { kind: 'host' }, say))).toEqual([undefined, undefined, 'odd'])
  })

  it('is complete if a key is a placeholder, which is no secret', async () => {
    const say = (key: string, fixed: string) => ({
      message: `Not ${key} and ${fixed}`,
      param: key,
      code: 'odd',
    })
    for (const standIn of ['none', 'EMPTY', 'x']) {
      const error = await failure(adapterOf, { kind: 'host' }, say, { apiKey: standIn, fixed: standIn })
      expect(shown(error)).toEqual([`Not ${standIn} and ${standIn}`, standIn, 'odd'])
    }
  })
})

it("an error inside a provider's reply has credentials removed as well", async () => {
  const say = (key: string) => ({ message: `You sent ${key}.`, param: key, code: 'odd' })
  const error = await failure(openaiCompatible, { kind: 'host' }, say, { status: 200 })
  expect(error.reason).toBe('error-frame')
  expect(shown(error)).toEqual([undefined, undefined, 'odd'])
})
