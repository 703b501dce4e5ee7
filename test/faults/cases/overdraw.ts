import type { RouterOptions } from '../../../src/index.js'
import { textChunk } from '../../helpers/scripted-upstream.js'
import type { Bench, BenchOptions } from '../bench.js'
import {
  ESTIMATED,
  eventByEvent,
  type Fault,
  inBothModes,
  REPORTED,
  scripted,
  send,
  takeOverCall,
} from '../fault.js'
import {
  body,
  DONE,
  events,
  FINISH,
  HEAD,
  ROLE,
  TOKENS,
  USAGE,
  usage,
  wholeBody,
} from '../upstream-scripts.js'

/**
 * (0.001 + 22 x 0.00001 + 100 x 0.00002) x 1.2 + 0.0005: the prompt at 14 tokens and 8 more, and
 * `max_tokens`.
 */
export const HOLD = '0.004364'
/** 11 and 1,000 tokens: (0.001 + 0.00011 + 0.02) x 1.2 + 0.0005. */
const BEYOND = { prompt_tokens: 11, completion_tokens: 1_000 }
const BEYOND_COST = '0.025832'
/** 500 bytes, 125 tokens: more than the hold covers. */
const LONG_TEXT = events(textChunk('x'.repeat(500)))
/**
 * The prompt is held at its bytes, up to the model's context, which is as large as the estimate elsewhere.
 */
const NEVER: BenchOptions = {
  router: { neverOverdraw: true } satisfies Partial<RouterOptions>,
  model: { contextLength: 22 },
}

export const overdraw: readonly Fault[] = [
  ...scripted({
    row: 'overdraft',
    name: 'the reported usage costs more than the hold',
    scripts: {
      stream: [[HEAD, TOKENS, FINISH, usage(BEYOND), DONE, 'end']],
      json: [wholeBody(body({ usage: BEYOND }))],
    },
    due: BEYOND_COST,
    answer: 'whole',
  }),
  ...scripted({
    row: 'overdraft',
    name: 'the reported usage costs more than the account has',
    options: { accounts: { alice: '0.01' } },
    scripts: {
      stream: [[HEAD, TOKENS, FINISH, usage(BEYOND), DONE, 'end']],
      json: [wholeBody(body({ usage: BEYOND }))],
    },
    due: BEYOND_COST,
    answer: 'whole',
    async also(bench, call) {
      const { overdraft } = await bench.event('request-end', call)
      if (overdraft !== 15_832_000n) throw new Error(`overdraft: ${overdraft}`)
    },
  }),
  ...scripted({
    row: 'estimated',
    name: 'the estimate exceeds the hold',
    scripts: {
      stream: [[HEAD, LONG_TEXT, FINISH, DONE, 'end']],
      json: [wholeBody(body({}, { role: 'assistant', content: 'x'.repeat(500) }))],
    },
    due: HOLD,
    answer: 'whole',
  }),
  ...scripted({
    row: 'estimated',
    name: 'the usage arrives only before the tokens: the estimate uses its prompt',
    scripts: {
      stream: [[HEAD, usage({ prompt_tokens: 11, completion_tokens: 1 }), TOKENS, FINISH, DONE, 'end']],
    },
    // (0.001 + 11 x 0.00001 + 5 x 0.00002) x 1.2 + 0.0005
    due: '0.001952',
    answer: 'whole',
  }),
  ...scripted({
    row: 'estimated',
    name: 'the usage arrives before the tokens, and at the end without a completion',
    scripts: {
      stream: [
        [
          HEAD,
          usage({ prompt_tokens: 11, completion_tokens: 1 }),
          TOKENS,
          FINISH,
          usage({ prompt_tokens: 11, completion_tokens: -1 }),
          DONE,
          'end',
        ],
      ],
    },
    due: '0.001952',
    answer: 'whole',
  }),
  {
    row: 'broken',
    name: 'with `neverOverdraw`, an error arrives with a usage above the hold',
    stream: true,
    options: NEVER,
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      const counts = { prompt_tokens: 11, completion_tokens: 900 }
      await send(reply, events({ error: { message: 'The model fell over.' }, usage: counts }), 'end')
      return call
    },
    due: HOLD,
    answer: { frame: 'provider_error' },
  },
  ...scripted({
    row: 'never-overdraw',
    name: 'nothing goes wrong',
    options: NEVER,
    scripts: {
      stream: [[HEAD, TOKENS, FINISH, USAGE, DONE, 'end']],
      json: [wholeBody(body({ usage: { prompt_tokens: 11, completion_tokens: 7 } }))],
    },
    due: REPORTED,
    answer: 'whole',
    also: (bench) => expectUpstream(bench, { max_tokens: 100, max_completion_tokens: undefined }),
  }),
  ...scripted({
    row: 'never-overdraw',
    name: 'the reported usage costs more than the hold',
    options: { ...NEVER, accounts: { alice: HOLD } },
    scripts: {
      stream: [[HEAD, TOKENS, FINISH, usage(BEYOND), DONE, 'end']],
      json: [wholeBody(body({ usage: BEYOND }))],
    },
    due: HOLD,
    answer: 'whole',
    // 0.025832 - 0.004364
    also: (bench) => expectShortfall(bench, 21_468_000n),
  }),
  {
    row: 'never-overdraw',
    name: 'the stream exceeds the hold: it is cut there',
    stream: true,
    options: { ...NEVER, accounts: { alice: HOLD } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, LONG_TEXT)
      await reply.closed
      return call
    },
    due: HOLD,
    answer: 'cut',
    // (0.001 + 10 x 0.00001 + 125 x 0.00002) x 1.2 + 0.0005 - 0.004364
    also: (bench) => expectShortfall(bench, 456_000n),
  },
  ...inBothModes((stream) => ({
    row: 'never-overdraw',
    name: 'the reported prompt alone exceeds the hold: nothing is cut',
    options: { ...NEVER, accounts: { alice: HOLD } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, stream)
      await send(reply, HEAD, ROLE, usage({ prompt_tokens: 900, completion_tokens: 1 }))
      await bench.takes(1)
      await send(reply, TOKENS)
      await bench.takes(2)
      await send(reply, TOKENS, FINISH, usage({ prompt_tokens: 900, completion_tokens: 7 }), DONE, 'end')
      return call
    },
    due: HOLD,
    answer: 'whole',
    // (0.001 + 900 x 0.00001 + 7 x 0.00002) x 1.2 + 0.0005 - 0.004364
    also: (bench) => expectShortfall(bench, 8_304_000n),
  })),
  {
    row: 'never-overdraw',
    name: 'the stream finishes in the read that exceeds the hold: the router waits for its usage',
    stream: true,
    options: { ...NEVER, accounts: { alice: HOLD } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, events(textChunk('x'.repeat(500)), FINISH_CHUNK))
      await bench.takes(2)
      await send(reply, USAGE, DONE, 'end')
      return call
    },
    due: REPORTED,
    answer: 'whole',
  },
  {
    row: 'never-overdraw',
    name: 'the model is free, and the stream arrives event by event',
    stream: true,
    options: { ...NEVER, accounts: {}, model: { prices: { input: '0', output: '0' } } },
    play: (bench) => eventByEvent(bench, {}, { authorization: 'Bearer key-of-alice' }),
    due: '0',
    answer: 'whole',
  },
  ...scripted({
    row: 'never-overdraw',
    name: 'the model is free',
    options: { ...NEVER, accounts: {}, model: { prices: { input: '0', output: '0' } } },
    headers: { authorization: 'Bearer key-of-alice' },
    scripts: {
      stream: [[HEAD, TOKENS, TOKENS, FINISH, USAGE, DONE, 'end']],
      json: [wholeBody(body({ usage: { prompt_tokens: 11, completion_tokens: 7 } }))],
    },
    due: '0',
    answer: 'whole',
    async also(bench, call) {
      // A charge of 0 is still settled.
      const { charge } = await bench.event('request-end', call)
      if (charge?.cost !== 0n || charge.basis !== 'reported') throw new Error('no charge of 0')
    },
  }),
  ...inBothModes((stream) => ({
    row: 'never-overdraw',
    name: 'the request has no effective output limit: the provider gets that of the hold',
    // The Messages API requires one.
    apis: ['chat', 'responses'],
    options: { ...NEVER, charging: { holdOutputTokens: 50 } },
    async play(bench) {
      bench.upstream.script([HEAD, TOKENS, FINISH, USAGE, DONE, 'end'])
      const call = bench.call(stream, { max_tokens: -1, max_completion_tokens: null })
      await call.client.over
      return call
    },
    due: REPORTED,
    answer: 'whole',
    also: (bench) => expectUpstream(bench, { max_tokens: 50 }),
  })),
  ...inBothModes((stream) => ({
    row: 'never-overdraw',
    name: 'the request has two output limits: both stay unchanged',
    apis: ['chat'],
    options: NEVER,
    async play(bench) {
      bench.upstream.script([HEAD, TOKENS, FINISH, USAGE, DONE, 'end'])
      const call = bench.call(stream, { max_tokens: 10, max_completion_tokens: 20 })
      await call.client.over
      return call
    },
    due: REPORTED,
    answer: 'whole',
    also: (bench) => expectUpstream(bench, { max_tokens: 10, max_completion_tokens: 20 }),
  })),
  {
    row: 'left-abort-after',
    name: 'the client leaves in the middle, with `neverOverdraw`',
    stream: true,
    options: { ...NEVER, routes: [{ onDisconnect: 'abort' }] },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS)
      await bench.takes(1)
      await bench.leave(call)
      await reply.closed
      return call
    },
    due: ESTIMATED,
    answer: 'left',
  },
]

const FINISH_CHUNK = { ...textChunk(''), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }

function expectUpstream(bench: Bench, expected: Readonly<Record<string, unknown>>): void {
  const asked = bench.upstream.requests[0]!.body as Readonly<Record<string, unknown>>
  for (const [field, value] of Object.entries(expected)) {
    if (asked[field] !== value) throw new Error(`${field} was sent as ${JSON.stringify(asked[field])}`)
  }
}

function expectShortfall(bench: Bench, expected: bigint): void {
  for (const { charge } of bench.audit.settlements.values()) {
    if (charge.shortfall !== expected) throw new Error(`shortfall: ${charge.shortfall}`)
  }
  for (const [account, amount] of bench.audit.lowest) {
    if (amount < 0n) throw new Error(`${account} went below zero`)
  }
}
