import { expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/contracts/providers.js'
import { memoryLedger, memoryProviders, ProviderError } from '../../src/index.js'
import { chat } from '../../src/operations/chat/index.js'
import { choiceEvent, FINISH, openEngine, streamedCall } from './one-call.js'

const fails: ProviderAdapter = {
  chat: async () => {
    throw new ProviderError('unreachable', 'Nobody is there')
  },
}
/** 25 tokens by its bytes, but the hold covers 5 at its price. */
const says: ProviderAdapter = {
  async chat(_call, take) {
    await take([choiceEvent({ content: 'x'.repeat(50) })])
    await take([choiceEvent({ content: 'y'.repeat(50) })])
    await take([FINISH])
    return { terminated: true }
  },
}

it('neverOverdraw cuts a stream off at the amount on hold, even if a more expensive route took the hold', async () => {
  const ledger = memoryLedger({ alice: '5' })
  const provider = (id: string, adapter: ProviderAdapter, output: string) => ({
    id,
    adapter,
    models: { 'acme/fast': 'fast' },
    prices: { input: '1', output },
  })
  const ask = async (first: string) => {
    const providers = [provider('dear', fails, first), provider('cheap', says, '1')]
    const engine = openEngine(says, {
      ledger,
      providers: memoryProviders(providers),
      neverOverdraw: true,
      contextLength: 9,
      charging: { holdOutputTokens: 5 },
    })
    const body = {
      model: 'acme/fast',
      stream: true,
      routing: { order: ['dear', 'cheap'] },
      messages: [{ role: 'user', content: 'Hi' }],
    }
    let sent = ''
    await engine.run(
      chat,
      { ...streamedCall, readBody: async () => ({ value: body, bytes: 100 }) },
      {
        left: false,
        onLeave: () => undefined,
        send: (status) => expect.fail(`It was answered with ${status}`),
        openStream: () => undefined,
        write(bytes) {
          sent += bytes
        },
        end(bytes) {
          sent += bytes
        },
        drop: () => expect.fail('The client was dropped'),
      },
    )
    await engine.close({ graceMs: 0 })
    return { finish: sent.match(/"finish_reason":"\w+"/g), hasAll: sent.includes('yyy') }
  }
  // The prompt is held as 9 tokens, the context of the model: 14,000 nanocredits at first, and 109,000.
  expect(await ask('1')).toEqual({ finish: ['"finish_reason":"length"'], hasAll: true })
  expect(await ask('20')).toEqual({ finish: ['"finish_reason":"stop"'], hasAll: true })
})
