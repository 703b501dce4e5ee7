import type { Step } from '../../helpers/scripted-upstream.js'
import type { Bench, BenchCall } from '../bench.js'
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

const KEYED = { 'idempotency-key': 'key-1' }

/**
 * A call whose client left continues to its own end, with the same limits as if the client were still there.
 */
export const leftCalls: readonly Fault[] = [
  ...goesSilent('after the first token', [HEAD, TOKENS], 1),
  ...goesSilent('before the first token', [HEAD, ROLE], 1),
  ...goesSilent('after the first token', [HEAD, TOKENS], 1, KEYED),
  ...inBothModes((stream) => ({
    row: 'left-drain',
    name: 'the client leaves, and the reply takes several more minutes',
    options: { timeouts: { idleMs: 60_000, tokenMs: 60_000, totalMs: 900_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, stream)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.leave(call)
      for (let tokens = 2; tokens < 12; tokens++) {
        await bench.clock.elapse(50_000)
        await send(reply, TOKENS)
        await bench.takes(tokens)
      }
      await send(reply, FINISH, USAGE, DONE, 'end')
      await bench.event('request-end', call)
      return call
    },
    due: REPORTED,
    answer: 'left',
  })),
  ...inBothModes((stream) => ({
    row: 'left-drain',
    name: 'the client leaves with the last token, while abandoned calls of its account continue',
    async play(bench) {
      const others: { call: BenchCall; reply: Awaited<ReturnType<typeof takeOver>> }[] = []
      for (let other = 0; other < 3; other++) {
        const taken = takeOver(bench)
        const call = bench.call(stream, { max_tokens: 10 })
        others.push({ call, reply: await taken })
        await bench.leave(call)
      }
      const taken = takeOver(bench)
      const call = bench.call(stream)
      const reply = await taken
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.leave(call)
      await send(reply, FINISH, USAGE, DONE, 'end')
      await bench.event('request-end', call)
      for (const other of others) {
        other.reply.reset()
        await bench.event('request-end', other.call)
      }
      return call
    },
    due: REPORTED,
    answer: 'left',
  })),
  // A JSON reply would have ended in an HTTP error.
  {
    row: 'stopped',
    name: 'the total deadline passes after the client has left',
    stream: true,
    options: { timeouts: { totalMs: 10_000 } },
    play: (bench) => outlivesItsClient(bench, true),
    due: ESTIMATED,
    answer: 'left',
  },
  {
    row: 'stopped',
    name: 'the total deadline passes after the client has left before the first token',
    stream: true,
    options: { timeouts: { totalMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await bench.leave(call)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due: ESTIMATED,
    answer: 'left',
  },
  {
    row: 'http-error',
    name: 'the total deadline passes after the client has left',
    stream: false,
    options: { timeouts: { totalMs: 10_000 } },
    play: (bench) => outlivesItsClient(bench, false),
    due: NOTHING,
    answer: 'left',
  },
  {
    row: 'left-drain',
    name: 'the client reads nothing for too long',
    stream: true,
    options: { timeouts: { clientStallMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS)
      await call.client.receives('twenty bytes')
      call.client.pause()
      // More than both sockets buffer: the router stops reading, so this is written only when it reads again.
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
    name: 'the client reads nothing for too long',
    stream: true,
    options: { timeouts: { clientStallMs: 10_000 }, routes: [{ onDisconnect: 'abort' }] },
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

/** As if the client had stayed: nobody pays an estimate for a provider that fell silent. */
function goesSilent(
  when: string,
  before: readonly Step[],
  events: number,
  headers: Readonly<Record<string, string>> = {},
): Fault[] {
  const isKeyed = headers === KEYED
  return inBothModes((stream) => ({
    row: isKeyed ? 'left-keyed' : 'left-drain',
    name: `the client leaves, and the provider falls silent ${when}`,
    options: { timeouts: { idleMs: 10_000 }, routes: [{ onDisconnect: isKeyed ? 'abort' : 'drain' }] },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, stream, {}, headers)
      await send(reply, ...before)
      await bench.takes(events)
      await bench.leave(call)
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due: NOTHING,
    answer: 'left',
  }))
}

async function outlivesItsClient(bench: Bench, stream: boolean): Promise<BenchCall> {
  const { call, reply } = await takeOverCall(bench, stream)
  await send(reply, HEAD, TOKENS)
  await bench.takes(1)
  await bench.leave(call)
  await bench.clock.elapse(10_000)
  await reply.closed
  return call
}
