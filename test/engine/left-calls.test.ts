import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { RequestEnd, RouterEvent } from '../../src/contracts/events.js'
import type { ProviderAdapter, ProviderEvent } from '../../src/contracts/providers.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { chat } from '../../src/operations/chat/index.js'
import { ChatChoice } from '../../src/operations/chat/reply/chat-choice.js'
import { choiceEvent, ERROR, FINISH, openEngine, streamedCall, TOKEN } from './one-call.js'

const LONG_TEXT = choiceEvent({ content: 'x'.repeat(400) })

/** Runs one call whose client leaves after the first read. `rest` then arrives in one read. */
async function leaveEarly(
  rest: readonly ProviderEvent[],
  {
    first = [TOKEN],
    onDisconnect = 'drain',
    neverOverdraw = false,
    stream = true,
  }: {
    first?: ProviderEvent[]
    onDisconnect?: 'abort' | 'drain'
    neverOverdraw?: boolean
    stream?: boolean
  } = {},
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
    neverOverdraw,
    onEvent: (event) => events.push(event),
  })
  const body = { model: 'acme/fast', stream, messages: [{ role: 'user', content: 'Hello there' }] }
  await engine.run(chat, { ...streamedCall, readBody: async () => ({ value: body, bytes: 100 }) }, writer)
  await engine.close()
  return events.find((event): event is RequestEnd => event.type === 'request-end')
}

const USAGE: ProviderEvent = { type: 'usage', usage: { prompt: 10, completion: 500 } }

describe('a call that is read to its end after its client left', () => {
  it('is charged as if the client had stayed, however much more arrives', async () => {
    const end = await leaveEarly([...Array.from({ length: 1_000 }, () => LONG_TEXT), FINISH, USAGE])
    expect(end?.charge).toMatchObject({ basis: 'reported', usage: { completion: 500 } })
  })

  it('is charged its hold if it costs more than that, under neverOverdraw', async () => {
    const usage: ProviderEvent = { type: 'usage', usage: { prompt: 10, completion: 1_000_000 } }
    const end = await leaveEarly([usage, LONG_TEXT], { neverOverdraw: true })
    expect(end?.charge?.shortfall).toBeGreaterThan(0n)
    expect(end?.charge?.cost).toBe(end?.holdAmount)
  })

  it('is not charged if the provider breaks', async () => {
    expect((await leaveEarly([LONG_TEXT, ERROR]))?.charge).toBeUndefined()
  })

  it('is charged as reported if it had finished, even if its route aborts', async () => {
    const end = await leaveEarly([USAGE], { first: [TOKEN, FINISH], onDisconnect: 'abort' })
    expect(end?.charge).toMatchObject({ basis: 'reported', usage: { completion: 500 } })
  })

  it('buffers nothing of a reply that nobody waits for', async () => {
    const gathered: string[] = []
    const add = ChatChoice.prototype.add
    const watch = vi.spyOn(ChatChoice.prototype, 'add').mockImplementation(function (
      this: ChatChoice,
      delta,
    ) {
      gathered.push(delta.type)
      add.call(this, delta)
    })
    onTestFinished(() => watch.mockRestore())
    const end = await leaveEarly([LONG_TEXT, LONG_TEXT, FINISH, USAGE], { stream: false })
    expect(end?.charge).toMatchObject({ basis: 'reported', usage: { completion: 500 } })
    expect(gathered).toEqual(['start', 'text'])
  })
})
