import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { cachedCredentials } from '../../src/cache/index.js'
import type { CompatHandler } from '../../src/handler.js'
import { createCompatHandler } from '../../src/handler.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import { createDeferred } from '../helpers/deferred.js'
import { answerJson, type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'
import { createSteppedClock, type SteppedClock } from '../helpers/stepped-clock.js'

const COMPLETION = {
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
}
const HOLD_MS = 17 * 60_000

let upstream: ScriptedUpstream
let clock: SteppedClock
let handler: CompatHandler
let expired: string[]

beforeEach(async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  upstream = await startScriptedUpstream()
  clock = createSteppedClock()
  expired = []
  handler = createCompatHandler({
    credentials: memoryCredentials({ 'sk-a': { kind: 'api-key', account: 'alice' } }, { clock }),
    catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '1', output: '1' } }]),
    ledger: memoryLedger({ alice: '1000' }, { clock }),
    providers: memoryProviders([
      { id: 'p', models: { 'acme/fast': 'm' }, adapter: openaiCompatible({ baseUrl: upstream.baseUrl }) },
    ]),
    clock,
    onEvent: (event) => {
      if (event.type === 'hold-expired') expired.push(event.hold.account)
    },
  })
})
afterEach(async () => {
  await Promise.all([handler.close({ graceMs: 0 }), clock.elapse(1)])
  await upstream.close()
  vi.unstubAllGlobals()
})

const call = (headers: Record<string, string> = {}): Promise<Response> =>
  handler(
    new Request('https://host.example/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer sk-a', 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'acme/fast', messages: [{ role: 'user', content: 'Hi' }] }),
    }),
  )

describe('on Workers', () => {
  it('no timer is set while no call is running', async () => {
    expect(clock.pending).toBe(0)
    upstream.script(answerJson(COMPLETION))
    expect((await call()).status).toBe(200)
    expect(clock.pending).toBe(0)
  })

  it('each running call has a deadline by a timer of its own', async () => {
    upstream.script(['stall'])
    const asked = upstream.nextRequest()
    const first = call()
    await asked
    const before = clock.pending
    const next = upstream.nextRequest()
    const second = call()
    await next
    expect(clock.pending).toBe(before * 2)
    await clock.elapse(20 * 60_000)
    expect([(await first).status, (await second).status]).toEqual([504, 504])
  })

  it('a repeat is refused while the first call is running, and gets its reply afterwards', async () => {
    const goOn = createDeferred<void>()
    upstream.script([
      { head: 200, headers: { 'content-type': 'application/json' } },
      { wait: goOn.promise },
      { write: JSON.stringify(COMPLETION) },
      'end',
    ])
    const asked = upstream.nextRequest()
    const first = call({ 'idempotency-key': 'k' })
    await asked
    expect((await call({ 'idempotency-key': 'k' })).status).toBe(409)
    goOn.resolve()
    const reply = await (await first).text()
    expect(await (await call({ 'idempotency-key': 'k' })).text()).toBe(reply)
    expect(upstream.requests.length).toBe(1)
  })

  it('sweep reports the holds that have expired, of which nothing else would tell', async () => {
    upstream.script(['stall'])
    const asked = upstream.nextRequest()
    // As if the call had been cut off: its deadline is never seen.
    const after = vi.spyOn(clock, 'after').mockImplementation(() => () => undefined)
    void call()
    await asked
    expect(await handler.sweep()).toEqual({ expired: 0 })
    await clock.elapse(HOLD_MS)
    expect(expired).toEqual([])
    expect(await handler.sweep()).toEqual({ expired: 1 })
    expect(expired).toEqual(['alice'])
    after.mockRestore()
  })

  it('a load of a cache is not shared, since it may end with the call that began it', async () => {
    const loads: string[] = []
    const answer = createDeferred<void>()
    const store = cachedCredentials(
      {
        async resolve(_token, { requestId }) {
          loads.push(requestId)
          if (requestId === 'cut') await new Promise(() => undefined)
          await answer.promise
          return { ok: false, reason: 'unknown' }
        },
      },
      { clock },
    )
    const context = (requestId: string) => ({ requestId, signal: new AbortController().signal })
    void store.resolve('sk-b', context('cut'))
    const found = store.resolve('sk-b', context('other'))
    answer.resolve()
    expect(await found).toMatchObject({ ok: false })
    expect(loads).toEqual(['cut', 'other'])
  })
})
