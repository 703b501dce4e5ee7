import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { memoryLedger, memoryProviders, type RouterEvent } from '../../src/index.js'
import { chat } from '../../src/operations/chat/index.js'
import type { UsageReport } from '../../src/protocol/usage.js'
import { openEngine, streamedCall } from './one-call.js'

const choice = (content: string, rest: object = {}) => ({
  index: 0,
  message: { role: 'assistant', content },
  finish_reason: 'stop',
  ...rest,
})
const completion = (rest: object = {}): ProviderEvent => ({
  type: 'completion',
  completion: { choices: [choice('Hi', rest)] },
})
const chunk = (rest: object): ProviderEvent => ({
  type: 'chunk',
  chunk: { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop', ...rest }] },
})
const throwsWhenWritten = {
  toJSON() {
    throw new Error('It cannot be written')
  },
}

const USAGE: UsageReport = { prompt: 3, completion: 2 }
const context = { requestId: streamedCall.requestId, signal: new AbortController().signal }

/** The bytes that a client gets of a call whose first provider sends `event`, and the charge. */
async function ask(
  event: ProviderEvent,
  stream: boolean,
  next?: ProviderEvent,
  usage = USAGE,
  fields: object = {},
) {
  const ledger = memoryLedger({ alice: '5' })
  const providers = [event, ...(next ? [next] : [])].map((said, position) => ({
    id: `provider-${position}`,
    models: { 'acme/fast': 'fast' },
    adapter: {
      async chat(_call: unknown, take: (events: readonly ProviderEvent[]) => void | Promise<void>) {
        await take([said, { type: 'usage', usage }])
        return { terminated: true }
      },
    },
  }))
  const events: RouterEvent[] = []
  const engine = openEngine(providers[0]!.adapter, {
    ledger,
    providers: memoryProviders(providers),
    onEvent: (event) => void events.push(event),
  })
  const sent: { status: number; body: string }[] = []
  const writer: ReplyWriter = {
    left: false,
    onLeave: () => undefined,
    send: (status, _headers, body) => void sent.push({ status, body: [body].flat().join('') }),
    openStream: () => void sent.push({ status: 200, body: '' }),
    write(bytes) {
      sent[0]!.body += bytes
    },
    end(bytes) {
      sent[0]!.body += bytes
    },
    drop: () => undefined,
  }
  const body = { model: 'acme/fast', stream, messages: [{ role: 'user', content: 'Hello there' }], ...fields }
  await engine.run(chat, { ...streamedCall, readBody: async () => ({ value: body, bytes: 100 }) }, writer)
  const { posted, held } = (await ledger.balance('alice', context))!
  await engine.close({ graceMs: 0 })
  return { sent, charged: 5_000_000_000n - posted, events, held }
}

describe("an adapter's reply that cannot be written as JSON", () => {
  const unwritable: [string, ProviderEvent][] = [
    ['a JSON reply with a BigInt in a choice', completion({ logprobs: { content: [{ bytes: 1n }] } })],
    ['a JSON reply with a value that throws when it is written', completion({ extra: throwsWhenWritten })],
    ['a chunk with a BigInt in it', chunk({ score: 1n })],
    ['a chunk with a value that throws when it is written', chunk({ extra: throwsWhenWritten })],
  ]

  describe.each(unwritable)('as %s', (_, event) => {
    it.each([false, true])('is an error without a charge; streamed: %s', async (stream) => {
      const { charged, held, sent } = await ask(event, stream)
      expect(sent).toHaveLength(1)
      expect(sent[0]).toMatchObject({ status: 502 })
      expect(JSON.parse(sent[0]!.body).error.code).toBe('provider_invalid_response')
      expect([charged, held]).toEqual([0n, 0n])
    })
  })

  it('for a JSON client leaves the call to the next route, which alone is charged', async () => {
    const { charged, held, sent } = await ask(completion({ score: 1n }), false, completion())
    expect(sent[0]).toMatchObject({ status: 200 })
    expect(JSON.parse(sent[0]!.body).choices[0].message.content).toBe('Hi')
    expect([charged, held]).toEqual([5_000n, 0n])
  })
})

it('with a BigInt count is treated as if the count were missing, and the host gets a report', async () => {
  const usage = { prompt: 3n, completion: 2 } as unknown as UsageReport
  const { charged, events, sent } = await ask(completion(), false, undefined, usage)
  expect(JSON.parse(sent[0]!.body).usage).toMatchObject({ prompt_tokens: 2, charge: { basis: 'estimated' } })
  expect(charged).toBe(4_000n)
  expect(events.filter(({ type }) => type === 'usage-implausible')).toMatchObject([
    { field: 'prompt', value: '3n' },
  ])
})

it.each([
  ['a BigInt', 1n],
  ['a function', () => 1],
  ['a value that throws when it is written', throwsWhenWritten],
])("the end of a call is reported even if the body from the host's parser contains %s", async (_, action) => {
  const { charged, events } = await ask(completion(), false, undefined, USAGE, { action, connected: [1] })
  const ends = events.filter(({ type }) => type === 'request-end')
  expect(ends).toMatchObject([{ outcome: 'completed', connected: [1] }])
  expect(ends[0]).toMatchObject({ action: undefined })
  expect(charged).toBe(5_000n)
})
