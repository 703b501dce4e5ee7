import { describe, expect, it } from 'vitest'
import type { ProviderEvent, TakeEvents } from '../../src/contracts/providers.js'
import type { RouterEvent } from '../../src/index.js'
import { chat } from '../../src/operations/chat/index.js'
import { FINISH, ignoringClient, openEngine, streamedCall, TOKEN } from './one-call.js'

/** Makes a call of an adapter for each way to answer it, and returns the statuses. */
async function statusesOf(...answers: ((take: TakeEvents) => Promise<void> | void)[]): Promise<unknown[]> {
  const events: RouterEvent[] = []
  const waiting = [...answers]
  const engine = openEngine(
    {
      async chat(_call, take) {
        await waiting.shift()!(take)
        return { terminated: true }
      },
    },
    { onEvent: (event) => void events.push(event) },
  )
  for (const _ of answers) await engine.run(chat, streamedCall, ignoringClient)
  expect([engine.inFlight, engine.openHolds]).toEqual([0, 0])
  await engine.close({ graceMs: 0 })
  return events.flatMap((event) => (event.type === 'request-end' ? [event.status] : []))
}

const good = async (take: TakeEvents) => take([TOKEN, FINISH])

describe("an adapter of the host's own that says what cannot be", () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, '5'])(
    'fails its own call alone if it counts %s held bytes',
    async (held) => {
      const wrong = async (take: TakeEvents) => take([TOKEN], held as number)
      expect(await statusesOf(wrong, good)).toEqual([502, 200])
    },
  )

  it('cannot keep the router busy with an object that contains itself', async () => {
    const delta: Record<string, unknown> = { content: 'Hi' }
    delta.self = delta
    const event: ProviderEvent = {
      type: 'chunk',
      chunk: { choices: [{ index: 0, delta, finish_reason: null }] },
    }
    const [status, next] = await statusesOf(async (take) => take([event, FINISH]), good)
    expect([status === 200 || status === 502, next]).toEqual([true, 200])
    const unreadable: ProviderEvent = { type: 'unreadable', why: 'It is odd.', piece: delta }
    expect(await statusesOf(async (take) => take([TOKEN, unreadable, FINISH]), good)).toEqual([200, 200])
  })
})
