import OpenAI from 'openai'
import { afterEach, expect, test } from 'vitest'
import type { Script } from '../helpers/scripted-upstream.js'
import { Bench, COST, deferred, JSON_REPLY, MODEL } from './bench.js'

let bench: Bench
afterEach(() => bench.finish())

test.each([
  ['twice with a client as installed', {}, 2],
  [
    'once with a client that sends one key with a call and its retries',
    { idempotencyHeader: 'Idempotency-Key' },
    1,
  ],
])(
  'a call whose first answer is lost, and that the openai client retries by itself, is charged %s',
  async (_, settings, times) => {
    bench = await Bench.start()
    const gate = deferred()
    bench.upstream.script([{ wait: gate.promise }, ...(JSON_REPLY as readonly object[])] as Script)
    const asked = bench.upstream.nextRequest()
    const { headers, url } = bench.request()
    let tries = 0
    const client = new OpenAI({
      baseURL: url.replace('/chat/completions', ''),
      apiKey: headers.authorization.replace('Bearer ', ''),
      // As a timeout would: the first try is aborted once the provider has been called.
      async fetch(input, init) {
        if (++tries > 1) return fetch(input, init)
        const impatient = new AbortController()
        void asked.then(() => impatient.abort())
        return fetch(input, { ...init, signal: impatient.signal })
      },
    })
    Object.assign(client, settings)

    const reply = client.chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'hello' }],
    })
    await bench.until(() => bench.of('request-start').length === 2)
    await bench.inFlight(2)
    gate.open()
    expect(((await reply).usage as { cost?: number }).cost).toBe(COST)
    await bench.until(() => bench.of('request-end').length === 2)
    expect([tries, bench.dispatched, bench.charges]).toEqual([2, times, times])
  },
)
