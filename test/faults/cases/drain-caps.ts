import type { Step } from '../../helpers/scripted-upstream.js'
import {
  ESTIMATED,
  type Fault,
  inBothModes,
  NOTHING,
  REPORTED,
  send,
  takeOver,
  takeOverCall,
} from '../fault.js'
import { DONE, FINISH, HEAD, ROLE, TOKENS, USAGE } from '../upstream-scripts.js'

/** A drain that reaches one of its caps: the row for `abort` that fits. */
export const drainCaps: readonly Fault[] = [
  ...tooLong('before the first token', [HEAD, ROLE], 1, NOTHING),
  ...tooLong('after the first token', [HEAD, TOKENS], 1, ESTIMATED),
  ...tooLong('after the first token', [HEAD, TOKENS], 1, ESTIMATED, true),
  // A text of 20 bytes is an event of about 200; the drained one is charged too.
  ...inBothModes((stream) => ({
    row: 'left-drain',
    name: 'the drain has brought too many bytes',
    options: { limits: { drainBytes: 100 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, stream)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.leave(call)
      await send(reply, TOKENS)
      await reply.closed
      return call
    },
    // (0.001 + 10 x 0.00001 + 10 x 0.00002) x 1.2 + 0.0005
    due: '0.00206',
    answer: 'left',
  })),
  ...noSlot('before the first token', [HEAD, ROLE], NOTHING),
  ...noSlot('after the first token', [HEAD, TOKENS], ESTIMATED),
  ...inBothModes((stream) => ({
    row: 'left-drain',
    name: 'a drain that has ended makes room for another',
    options: { limits: { drains: 1 } },
    async play(bench) {
      const first = takeOver(bench)
      const before = bench.call(stream)
      const firstReply = await first
      await bench.leave(before)
      firstReply.reset()
      await bench.event('request-end', before)
      const second = takeOver(bench)
      const call = bench.call(stream)
      const reply = await second
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.leave(call)
      await send(reply, FINISH, USAGE, DONE, 'end')
      return call
    },
    due: REPORTED,
    answer: 'left',
  })),
  {
    row: 'left-drain',
    name: 'the client takes nothing for too long',
    stream: true,
    options: { limits: { clientStallMs: 10_000, drainBytes: 64 * 1024 * 1024 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS)
      await call.client.receives('twenty bytes')
      call.client.pause()
      // More than both sockets hold: the router stops reading, so that this is written only once it reads again.
      const rest = send(reply, ...Array.from({ length: 400 }, () => LARGE), FINISH, USAGE, DONE, 'end')
      await bench.dropsClient(call, 10_000)
      await rest
      await bench.event('request-end', call)
      call.client.leave()
      return call
    },
    due: REPORTED,
    answer: 'left',
  },
  {
    row: 'left-abort-after',
    name: 'the client takes nothing for too long',
    stream: true,
    options: { limits: { clientStallMs: 10_000 }, routes: [{ onDisconnect: 'abort' }] },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS)
      await call.client.receives('twenty bytes')
      call.client.pause()
      const rest = send(reply, ...Array.from({ length: 400 }, () => LARGE))
      await bench.dropsClient(call, 10_000)
      await reply.closed
      await rest
      await bench.event('request-end', call)
      call.client.leave()
      return call
    },
    // As much as its hold, (0.001 + 22 x 0.00001 + 100 x 0.00002) x 1.2 + 0.0005: an estimate is never more.
    due: '0.004364',
    answer: 'left',
  },
]

const LARGE_BYTES = 64 * 1024
const LARGE: Step = {
  write: `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(LARGE_BYTES) }, finish_reason: null }] })}\n\n`,
}

function tooLong(when: string, before: readonly Step[], events: number, due: string, keyed = false): Fault[] {
  return inBothModes((stream) => ({
    row: keyed ? 'left-keyed' : 'left-drain',
    name: `the drain takes too long, ${when}`,
    options: { limits: { drainMs: 10_000 }, routes: [{ onDisconnect: keyed ? 'abort' : 'drain' }] },
    async play(bench) {
      const { call, reply } = await takeOverCall(
        bench,
        stream,
        {},
        keyed ? { 'idempotency-key': 'key-1' } : {},
      )
      await send(reply, ...before)
      await bench.takes(events)
      await bench.leave(call)
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due,
    answer: 'left',
  }))
}

/** Another call has the one place there is. */
function noSlot(when: string, before: readonly Step[], due: string): Fault[] {
  return inBothModes((stream) => ({
    row: 'left-drain',
    name: `as many calls as may be are drained already, ${when}`,
    options: { limits: { drains: 1 } },
    async play(bench) {
      const first = takeOver(bench)
      const other = bench.call(stream)
      const otherReply = await first
      await bench.leave(other)
      const second = takeOver(bench)
      const call = bench.call(stream)
      const reply = await second
      await send(reply, ...before)
      await bench.takes(1)
      await bench.leave(call)
      await reply.closed
      await bench.event('request-end', call)
      otherReply.reset()
      await bench.event('request-end', other)
      return call
    },
    due,
    answer: 'left',
  }))
}
