import { describe, expect, it } from 'vitest'
import type { RequestEnd, RouterEvent } from '../../src/contracts/events.js'
import type { ProviderAdapter, ProviderEvent } from '../../src/contracts/providers.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { createEngine } from '../../src/engine/engine.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { engineOptions } from '../../src/options.js'
import { createManualClock } from '../conformance/manual-clock.js'

const data = (chunk: object): ProviderEvent => ({ type: 'data', bytes: JSON.stringify(chunk) })
const LONG_TEXT = data({ choices: [{ index: 0, delta: { content: 'x'.repeat(400) }, finish_reason: null }] })
const ERROR = data({ error: { message: 'It broke' } })

const TOKEN = data({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] })
const FINISH = data({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })

/** Runs one streamed call whose client leaves after the first read; `rest` then comes in one read. */
async function drain(
  rest: readonly ProviderEvent[],
  {
    first = [TOKEN],
    onDisconnect = 'drain',
    neverOverdraw = false,
  }: { first?: ProviderEvent[]; onDisconnect?: 'abort' | 'drain'; neverOverdraw?: boolean } = {},
): Promise<RequestEnd | undefined> {
  const clock = createManualClock()
  const events: RouterEvent[] = []
  let leave = (): void => {}
  const writer: ReplyWriter & { left: boolean } = {
    left: false,
    onLeave(listener) {
      leave = () => {
        writer.left = true
        listener()
      }
    },
    send() {},
    openStream() {},
    write() {},
    end() {},
    drop() {},
  }
  const adapter: ProviderAdapter = {
    async chat(_call, take) {
      await take(first)
      leave()
      await take(rest)
      return { terminated: true }
    },
  }
  const engine = createEngine(
    engineOptions({
      credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }, { clock }),
      catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '1', output: '1' } }]),
      ledger: memoryLedger({ alice: '5' }, { clock }),
      providers: memoryProviders([{ id: 'acme', models: { 'acme/fast': 'fast' }, adapter, onDisconnect }]),
      limits: { drainBytes: 100 },
      neverOverdraw,
      clock,
      onEvent: (event) => events.push(event),
    }),
  )
  const body = { model: 'acme/fast', stream: true, messages: [{ role: 'user', content: 'Hello there' }] }
  await engine.chatCompletions(
    {
      requestId: 'one',
      headers: { authorization: 'Bearer sk-demo' },
      authorizationLines: 1,
      readBody: async () => body,
    },
    writer,
  )
  await engine.close()
  return events.find((event): event is RequestEnd => event.type === 'request-end')
}

describe('a call that is read on without its client', () => {
  it('is charged for what came where it is more than is read on', async () => {
    expect((await drain([LONG_TEXT]))?.charge?.basis).toBe('estimated')
  })

  it('is charged its hold where one read costs more than that, and is more than is read on', async () => {
    const role = data({ choices: [{ index: 0, delta: { role: 'assistant' }, finish_reason: null }] })
    const usage: ProviderEvent = { type: 'usage', usage: { prompt: 1_000_000, completion: 0 } }
    const end = await drain([usage, role, role], { first: [role], neverOverdraw: true })
    expect(end?.charge?.shortfall).toBeGreaterThan(0n)
    expect(end?.charge?.cost).toBe(end?.holdAmount)
  })

  it('is not charged where the provider breaks in the very read that is more than is read on', async () => {
    expect((await drain([LONG_TEXT, ERROR]))?.charge).toBeUndefined()
  })

  it('is charged as reported where it had finished, though its route hangs up and no slot is free', async () => {
    const usage: ProviderEvent = { type: 'usage', usage: { prompt: 10, completion: 500 } }
    const end = await drain([usage], { first: [TOKEN, FINISH], onDisconnect: 'abort' })
    expect(end?.charge).toMatchObject({ basis: 'reported', usage: { completion: 500 } })
  })
})
