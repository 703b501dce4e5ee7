import { expect, it } from 'vitest'
import type { RequestEnd } from '../../src/contracts/events.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { chat } from '../../src/operations/chat/index.js'
import { createSteppedClock, turns } from '../helpers/stepped-clock.js'
import { choiceEvent, FINISH, openEngine, streamedCallWith } from './one-call.js'

const MIB = 1_024 * 1_024
const keyed = (requestId: string) => ({
  ...streamedCallWith({ 'idempotency-key': 'k' }),
  requestId,
})

/** A client that accepts one write at a time, on command. */
function slowClient() {
  let go = (): void => {}
  let tellLeft = (): void => {}
  const writer = {
    left: false as boolean,
    onLeave(listener: () => void) {
      tellLeft = listener
    },
    send() {},
    openStream() {},
    write: () =>
      new Promise<void>((resolve) => {
        go = resolve
      }),
    end() {},
    drop() {
      writer.left = true
      tellLeft()
    },
  } satisfies ReplyWriter
  return { writer, take: () => go() }
}

it('a large reply drops its slow followers one after the other, and is read to its end and charged', async () => {
  const clock = createSteppedClock()
  const ends: RequestEnd[] = []
  const engine = openEngine(
    {
      async chat(_call, take) {
        for (const mebibytes of [1, 1, 1, 1, 6])
          await take([choiceEvent({ content: 'x'.repeat(mebibytes * MIB) })])
        await take([FINISH])
        return { terminated: true }
      },
    },
    {
      clock,
      timeouts: { clientStallMs: 60_000, idleMs: 120_000, openStreamAfterMs: 600_000 },
      onEvent: (event) => {
        if (event.type === 'request-end') ends.push(event)
      },
    },
  )
  const [slow, lessSlow] = [slowClient(), slowClient()]
  const calls = [engine.run(chat, keyed('one'), slow.writer), engine.run(chat, keyed('two'), lessSlow.writer)]
  await turns(20)
  lessSlow.take()
  await clock.elapse(30_000)
  slow.take()
  lessSlow.take()
  await clock.elapse(31_000)
  expect([slow.writer.left, lessSlow.writer.left]).toEqual([true, false])
  lessSlow.take()
  await clock.elapse(60_000)
  expect(lessSlow.writer.left).toBe(true)
  await Promise.all(calls)
  expect(ends.map(({ outcome }) => outcome)).toEqual(['client-left', 'client-left'])
  const [charged] = ends.filter(({ charge }) => charge !== undefined)
  expect(charged?.routing?.attempts).toEqual([{ routeId: 'acme:acme/fast', outcome: 'finished' }])
  await engine.close()
})
