import { strict as assert } from 'node:assert'
import type { Timeouts } from '../../../src/index.js'
import { answerJson } from '../../helpers/scripted-upstream.js'
import type { Bench, BenchCall, BenchOptions } from '../bench.js'
import { type Fault, inBothModes, NOTHING, REPORTED, scripted, send, takeOverCall } from '../fault.js'
import {
  body,
  COMMENT,
  COUNTS,
  DONE,
  ERROR_FINISH,
  ERROR_FRAME,
  FINISH,
  HALF_EVENT,
  HEAD,
  halfBody,
  ROLE,
  TOKENS,
  USAGE,
  usage,
  wholeBody,
} from '../upstream-scripts.js'

const BROKEN = { status: 502, code: 'provider_error' }
const UNREADABLE = { status: 502, code: 'provider_invalid_response' }
const TIMEOUT = { status: 504, code: 'provider_timeout' }
const JSON_HEAD = { head: 200, headers: { 'content-type': 'application/json' } }

/** The client gets an HTTP error, which is always free. */
export const httpErrors: readonly Fault[] = [
  ...alike('the provider dies before its headers', [['reset']], BROKEN),
  ...alike('the provider closes before its headers', [['hang-up']], BROKEN),
  ...alike('the provider answers 500', [answerJson({ error: { message: 'no' } }, 500)], BROKEN),
  ...alike('the provider answers 400', [answerJson({ error: { message: 'no' } }, 400)], {
    status: 400,
    code: 'provider_rejected_request',
  }),
  ...alike('the provider answers 429', [answerJson({ error: { message: 'no' } }, 429)], {
    status: 429,
    code: 'rate_limited',
  }),
  ...alike(
    'the provider answers 200 with an error and a usage',
    [answerJson({ error: 'no', usage: COUNTS })],
    BROKEN,
  ),
  ...alike(
    'the provider redirects',
    [[{ head: 307, headers: { location: '/elsewhere' } }, 'end']],
    UNREADABLE,
  ),
  ...scripted({
    row: 'http-error',
    name: 'the provider dies after its headers',
    scripts: { stream: [[HEAD, 'reset']], json: [[JSON_HEAD, 'reset']] },
    due: NOTHING,
    answer: BROKEN,
  }),
  ...scripted({
    row: 'http-error',
    name: 'the provider dies in the middle of its first event',
    scripts: { stream: [[HEAD, ROLE, HALF_EVENT, 'hang-up']], json: [[...halfBody(), 'hang-up']] },
    due: NOTHING,
    answer: BROKEN,
  }),
  ...scripted({
    row: 'http-error',
    name: 'the provider reports a failure before the first token, with a usage',
    scripts: {
      stream: [[HEAD, ROLE, USAGE, ERROR_FRAME, 'end']],
      json: [[HEAD, ROLE, USAGE, ERROR_FRAME, 'end']],
    },
    due: NOTHING,
    answer: BROKEN,
  }),
  ...scripted({
    row: 'http-error',
    name: 'the client wants JSON, and the provider sends a stream that dies after tokens and usage',
    scripts: {
      json: [[HEAD, TOKENS, usage(COUNTS), 'reset']],
    },
    due: NOTHING,
    answer: BROKEN,
  }),
  ...scripted({
    row: 'http-error',
    name: 'the client wants JSON, and an error follows finish and usage',
    scripts: { json: [[HEAD, TOKENS, FINISH, USAGE, ERROR_FRAME, DONE, 'end']] },
    due: NOTHING,
    answer: BROKEN,
  }),
  ...scripted({
    row: 'http-error',
    name: 'the provider finishes with `error`',
    scripts: {
      stream: [[HEAD, ROLE, ERROR_FINISH, USAGE, DONE, 'end']],
      json: [wholeBody({ ...body({ usage: COUNTS }), choices: [errorChoice()] })],
    },
    due: NOTHING,
    answer: BROKEN,
  }),
  ...scripted({
    row: 'http-error',
    name: 'the provider sends something other than a reply',
    scripts: {
      stream: [[HEAD, { write: 'data: what?\n\n' }, 'end']],
      json: [[JSON_HEAD, { write: '[1]' }, 'end']],
    },
    due: NOTHING,
    answer: UNREADABLE,
  }),
  ...inBothModes((stream) => ({
    row: 'http-error',
    name: 'the provider has failed three times in a row, and is not called',
    async play(bench) {
      bench.upstream.script(answerJson({ error: { message: 'no' } }, 503))
      for (let failure = 0; failure < 3; failure++) await bench.call(stream).client.over
      const call = bench.call(stream)
      await call.client.over
      assert.equal(bench.upstream.requests.length, 3)
      return call
    },
    due: NOTHING,
    answer: { status: 503, code: 'no_route_available' },
  })),
  ...inBothModes((stream) => ({
    row: 'http-error',
    name: 'connecting to the provider takes too long',
    // A socket that accepts connections and never begins TLS. The adapter's own timeout, in real time.
    options: {
      timeouts: { connectMs: 20 },
      routes: [{ baseUrl: (scripted) => scripted.replace('http:', 'https:') }],
    },
    async play(bench) {
      const call = bench.call(stream)
      await call.client.over
      return call
    },
    due: NOTHING,
    answer: TIMEOUT,
  })),
  ...silent('the provider sends no byte in time', { idleMs: 10_000 }).filter(({ stream }) => stream),
  {
    row: 'reported',
    name: 'the provider takes minutes before the first byte of a JSON reply',
    stream: false,
    options: { routes: [{}, {}], timeouts: { idleMs: 10_000, tokenMs: 20_000, totalMs: 900_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, false)
      await bench.clock.elapse(600_000)
      // Keeps the connection alive, and begins nothing.
      await send(reply, JSON_HEAD, { write: '\n' })
      await bench.clock.elapse(200_000)
      await send(reply, { write: JSON.stringify(body({ usage: COUNTS })) }, 'end')
      return call
    },
    due: REPORTED,
    answer: 'whole',
    also: neverBlamed,
  },
  {
    row: 'http-error',
    name: 'the provider falls silent in the middle of a JSON reply',
    stream: false,
    options: { routes: [{}, {}], timeouts: { idleMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, false)
      await send(reply, ...halfBody())
      await bench.until(() => bench.reads > 0)
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due: NOTHING,
    answer: TIMEOUT,
    also: neverBlamed,
  },
  ...silent('the first of two providers sends nothing in time', { idleMs: 10_000, totalMs: 10_000 }, [
    {},
    {},
  ]),
  ...inBothModes((stream) => ({
    row: 'http-error',
    name: 'the provider sends comments and no token in time',
    options: { timeouts: { idleMs: 6_000, tokenMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, stream)
      await send(reply, HEAD, COMMENT)
      await bench.until(() => bench.reads > 0)
      await bench.clock.elapse(5_000)
      const { reads } = bench
      await send(reply, COMMENT)
      await bench.until(() => bench.reads > reads)
      await bench.clock.elapse(5_000)
      await reply.closed
      return call
    },
    due: NOTHING,
    answer: TIMEOUT,
  })),
  ...silent('the total deadline passes before the first token', { totalMs: 10_000 }),
  ...inBothModes((stream) => ({
    row: 'http-error',
    name: 'the router is closed before the first token',
    async play(bench) {
      const asked = bench.upstream.nextRequest()
      const call = bench.call(stream)
      const { closed } = await asked
      const closing = bench.router.close({ graceMs: 1_000 })
      await bench.clock.elapse(1_000)
      await closed
      await closing
      return call
    },
    due: NOTHING,
    answer: { status: 503, code: 'shutting_down' },
  })),
]

/** Nothing from the first route has reached the client, so the next one is tried. */
export const routesFailed: readonly Fault[] = [
  ...scripted({
    row: 'all-failed',
    name: 'two routes fail before the first token, one with a usage',
    options: { routes: [{}, {}] },
    scripts: {
      stream: [
        [HEAD, ROLE, USAGE, 'reset'],
        [HEAD, ROLE, USAGE, ERROR_FRAME, 'end'],
      ],
      json: [[...halfBody(), 'reset'], answerJson({ error: 'no', usage: COUNTS }, 503)],
    },
    due: NOTHING,
    answer: { stream: BROKEN, json: { status: 503, code: 'provider_overloaded' } },
  }),
  ...scripted({
    row: 'reported',
    name: 'a route fails before the first token, and the next one answers',
    options: { routes: [{}, {}] },
    scripts: {
      stream: [
        [HEAD, ROLE, usage({ prompt_tokens: 900, completion_tokens: 900 }), 'reset'],
        [HEAD, TOKENS, FINISH, USAGE, DONE, 'end'],
      ],
      json: [[...halfBody(), 'reset'], wholeBody(body({ usage: COUNTS }))],
    },
    due: REPORTED,
    answer: 'whole',
  }),
]

function alike(
  name: string,
  script: NonNullable<Parameters<typeof scripted>[0]['scripts']['json']>,
  answer: { status: number; code: string },
): Fault[] {
  return scripted({
    row: 'http-error',
    name,
    scripts: { stream: script, json: script },
    due: NOTHING,
    answer,
  })
}

/** The provider accepts a request and does not answer within ten seconds. */
function silent(name: string, timeouts: Partial<Timeouts>, routes: BenchOptions['routes'] = [{}]): Fault[] {
  return inBothModes((stream) => ({
    row: 'http-error',
    name,
    options: { timeouts, routes },
    async play(bench) {
      const asked = bench.upstream.nextRequest()
      const call = bench.call(stream)
      const { closed } = await asked
      await bench.clock.elapse(10_000)
      await closed
      return call
    },
    due: NOTHING,
    answer: TIMEOUT,
    also: neverBlamed,
  }))
}

/** A provider that timed out may bill the call, so no other is called. Its route still gets other calls. */
function neverBlamed(bench: Bench, { client, stream }: BenchCall): void {
  const others = bench.upstreams.slice(1).reduce((sum, { requests }) => sum + requests.length, 0)
  if (others > 0) throw new Error('another provider was called')
  if (bench.router.routes().some(({ failureRate }) => failureRate > 0)) throw new Error('the route is blamed')
  if (client.status === 504 && client.headers['x-should-retry'] !== 'false') {
    throw new Error(`it may be retried, ${stream ? 'streamed' : 'as JSON'}`)
  }
}

function errorChoice(): object {
  return { index: 0, message: { role: 'assistant', content: 'half' }, finish_reason: 'error' }
}
