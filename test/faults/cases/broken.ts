import { finishChunk, type Script } from '../../helpers/scripted-upstream.js'
import { type Fault, NOTHING, REPORTED, scripted, send, takeOverCall } from '../fault.js'
import {
  COMMENT,
  COUNTS,
  DONE,
  ERROR_FINISH,
  ERROR_FRAME,
  events,
  FINISH,
  HALF_EVENT,
  HEAD,
  ROLE,
  TOKENS,
  USAGE,
  usage,
} from '../upstream-scripts.js'

const BROKEN = { frame: 'provider_error' }

/** A stream that breaks after its first token. As JSON these are HTTP errors, and free like those. */
export const broken: readonly Fault[] = [
  ...breaks('the provider dies in the middle of the text', [HEAD, TOKENS, 'reset'], NOTHING),
  ...breaks('the provider dies in the middle of an event', [HEAD, TOKENS, HALF_EVENT, 'hang-up'], NOTHING),
  ...breaks('the stream ends without a finish', [HEAD, TOKENS, 'end'], NOTHING),
  ...breaks('the stream ends without a finish, after a usage', [HEAD, TOKENS, USAGE, 'end'], NOTHING),
  ...breaks('an error appears in the stream', [HEAD, TOKENS, ERROR_FRAME, DONE, 'end'], NOTHING),
  ...breaks(
    'an error appears in the stream, then finish and usage',
    [HEAD, TOKENS, ERROR_FRAME, FINISH, USAGE, DONE, 'end'],
    NOTHING,
  ),
  ...breaks(
    'an error follows the finish, without a usage',
    [HEAD, TOKENS, FINISH, ERROR_FRAME, DONE, 'end'],
    NOTHING,
  ),
  ...breaks(
    'an error follows finish and usage',
    [HEAD, TOKENS, FINISH, USAGE, ERROR_FRAME, DONE, 'end'],
    REPORTED,
  ),
  ...breaks(
    'an error follows the finish and half a usage',
    [HEAD, TOKENS, FINISH, usage({ prompt_tokens: 11 }), ERROR_FRAME, DONE, 'end'],
    NOTHING,
  ),
  ...breaks(
    'an error appears in the stream, with a usage in the same event',
    [HEAD, TOKENS, events({ error: { message: 'The model fell over.' }, usage: COUNTS }), DONE, 'end'],
    REPORTED,
  ),
  ...breaks(
    'the provider finishes with `error`, with a usage in the same event',
    [HEAD, TOKENS, events({ ...finishChunk('error'), usage: COUNTS }), DONE, 'end'],
    REPORTED,
  ),
  ...breaks('the provider finishes with `error`', [HEAD, TOKENS, ERROR_FINISH, USAGE, DONE, 'end'], NOTHING),
  ...breaks(
    '`error` follows the finish, without a usage',
    [HEAD, TOKENS, FINISH, ERROR_FINISH, DONE, 'end'],
    NOTHING,
  ),
  ...breaks(
    '`error` follows finish and usage',
    [HEAD, TOKENS, FINISH, USAGE, ERROR_FINISH, DONE, 'end'],
    REPORTED,
  ),
  ...scripted({
    row: 'broken',
    name: 'an event is unreadable',
    scripts: { stream: [[HEAD, TOKENS, { write: 'data: what?\n\n' }, FINISH, USAGE, DONE, 'end']] },
    due: NOTHING,
    answer: { frame: 'provider_invalid_response' },
  }),
  {
    row: 'broken',
    name: 'the provider falls silent after the first token',
    stream: true,
    options: { timeouts: { idleMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, ROLE, TOKENS)
      await bench.takes(2)
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due: NOTHING,
    answer: { frame: 'provider_timeout' },
  },
  {
    row: 'broken',
    name: 'the provider sends comments and no further token',
    stream: true,
    options: { timeouts: { idleMs: 6_000, tokenMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.clock.elapse(5_000)
      const { reads } = bench
      await send(reply, COMMENT)
      await bench.until(() => bench.reads > reads)
      await bench.clock.elapse(5_000)
      await reply.closed
      return call
    },
    due: NOTHING,
    answer: { frame: 'provider_timeout' },
  },
  {
    row: 'broken',
    name: 'nothing arrives until the stream is opened for keep-alive, then the provider dies',
    stream: true,
    options: { timeouts: { openStreamAfterMs: 1_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await bench.clock.elapse(1_000)
      await call.client.receives(bench.api.alive)
      reply.reset()
      return call
    },
    due: NOTHING,
    answer: BROKEN,
  },
]

function breaks(name: string, script: Script, due: string): Fault[] {
  return scripted({ row: 'broken', name, scripts: { stream: [script] }, due, answer: BROKEN })
}
