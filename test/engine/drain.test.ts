import { describe, expect, it } from 'vitest'
import type { RequestEnd, RouterEvent } from '../../src/contracts/events.js'
import type { ProviderAdapter, ProviderEvent } from '../../src/contracts/providers.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { choiceEvent, ERROR, FINISH, openEngine, streamedCall, TOKEN } from './one-call.js'

const LONG_TEXT = choiceEvent({ content: 'x'.repeat(400) })

/** Runs one streamed call whose client leaves after the first read; `rest` then comes in one read. */
async function drain(
  rest: readonly ProviderEvent[],
  {
    first = [TOKEN],
    onDisconnect = 'drain',
    neverOverdraw = false,
  }: { first?: ProviderEvent[]; onDisconnect?: 'abort' | 'drain'; neverOverdraw?: boolean } = {},
): Promise<RequestEnd | undefined> {
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
  const engine = openEngine(adapter, {
    onDisconnect,
    limits: { drainBytes: 100 },
    neverOverdraw,
    onEvent: (event) => events.push(event),
  })
  await engine.chatCompletions(streamedCall, writer)
  await engine.close()
  return events.find((event): event is RequestEnd => event.type === 'request-end')
}

describe('a call that is read on without its client', () => {
  it('is charged for what came where it is more than is read on', async () => {
    expect((await drain([LONG_TEXT]))?.charge?.basis).toBe('estimated')
  })

  it('is charged its hold where one read costs more than that, and is more than is read on', async () => {
    const usage: ProviderEvent = { type: 'usage', usage: { prompt: 10, completion: 1_000_000 } }
    const end = await drain([usage, LONG_TEXT], { neverOverdraw: true })
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
