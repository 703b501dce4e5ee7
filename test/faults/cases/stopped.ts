import { textChunk } from '../../helpers/scripted-upstream.js'
import {
  ESTIMATED,
  type Fault,
  inBothModes,
  NOTHING,
  REPORTED,
  scripted,
  send,
  takeOverCall,
} from '../fault.js'
import { COMMENT, DONE, events, FINISH, HEAD, ROLE, TOKENS, USAGE } from '../upstream-scripts.js'

/**
 * The total deadline, the limit of a reply's bytes, or a shutdown. Before the head of the reply is sent these
 * are HTTP errors.
 */
export const stopped: readonly Fault[] = [
  {
    row: 'stopped',
    name: 'the total deadline passes in the middle',
    stream: true,
    options: { timeouts: { totalMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, ROLE, TOKENS)
      await call.client.receives('twenty bytes')
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due: ESTIMATED,
    answer: { frame: 'provider_timeout' },
  },
  {
    row: 'stopped',
    name: 'the total deadline passes after the stream was opened for keep-alive, without a token',
    stream: true,
    options: { timeouts: { totalMs: 10_000, openStreamAfterMs: 2_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, COMMENT)
      await bench.clock.elapse(2_000)
      await call.client.receives(bench.api.alive)
      await bench.clock.elapse(8_000)
      await reply.closed
      return call
    },
    due: NOTHING,
    answer: { frame: 'provider_timeout' },
  },
  {
    row: 'stopped',
    name: 'the total deadline passes after the finish',
    stream: true,
    options: { timeouts: { totalMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS, FINISH)
      await bench.takes(2)
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due: ESTIMATED,
    answer: 'whole',
  },
  {
    row: 'http-error',
    name: 'the total deadline passes after tokens that no client has seen',
    stream: false,
    options: { timeouts: { totalMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, false)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due: NOTHING,
    answer: { status: 504, code: 'provider_timeout' },
  },
  {
    row: 'http-error',
    name: 'the router is closed after tokens that no client has seen',
    stream: false,
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, false)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      const closing = bench.router.close({ graceMs: 1_000 })
      await bench.clock.elapse(1_000)
      await closing
      return call
    },
    due: NOTHING,
    answer: { status: 503, code: 'shutting_down' },
  },
  {
    row: 'stopped',
    name: 'the router is closed in the middle',
    stream: true,
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS)
      await call.client.receives('twenty bytes')
      const closing = bench.router.close({ graceMs: 1_000 })
      await bench.clock.elapse(1_000)
      await reply.closed
      await closing
      return call
    },
    due: ESTIMATED,
    answer: { frame: 'shutting_down' },
  },
  ...inBothModes((stream) => ({
    row: 'reported',
    name: 'the router is closed, and the reply ends within the grace period',
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, stream)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      const closing = bench.router.close({ graceMs: 1_000 })
      await send(reply, FINISH, USAGE, DONE, 'end')
      await closing
      return call
    },
    due: REPORTED,
    answer: 'whole',
  })),
  {
    row: 'stopped',
    name: 'the router is closed while a reply is drained',
    stream: true,
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.leave(call)
      const closing = bench.router.close({ graceMs: 1_000 })
      await bench.clock.elapse(1_000)
      await reply.closed
      await closing
      return call
    },
    due: ESTIMATED,
    answer: 'left',
  },
  ...scripted({
    row: 'stopped',
    name: 'the reply grows longer than `sizes.replyBytes`',
    options: { sizes: { replyBytes: 1_000 } },
    scripts: {
      stream: [[HEAD, TOKENS, { write: `: ${'x'.repeat(1_000)}\n\n` }, FINISH, USAGE, DONE, 'end']],
    },
    due: ESTIMATED,
    answer: { frame: 'provider_invalid_response' },
  }),
  ...scripted({
    row: 'stopped',
    name: 'an event is longer than `sizes.eventBytes`',
    options: { sizes: { eventBytes: 1_000 } },
    scripts: {
      stream: [[HEAD, TOKENS, events(textChunk('x'.repeat(1_000))), FINISH, USAGE, DONE, 'end']],
    },
    due: ESTIMATED,
    answer: { frame: 'provider_invalid_response' },
  }),
]
