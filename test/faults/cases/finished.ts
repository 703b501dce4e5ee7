import assert from 'node:assert/strict'
import { textChunk } from '../../helpers/scripted-upstream.js'
import {
  ESTIMATED,
  type Fault,
  FIXED,
  inBothModes,
  NOTHING,
  REPORTED,
  scripted,
  send,
  takeOverCall,
} from '../fault.js'
import {
  body,
  COUNTS,
  choice,
  DONE,
  events,
  FINISH,
  HEAD,
  ROLE,
  TEXT,
  TOKENS,
  USAGE,
  usage,
  wholeBody,
} from '../upstream-scripts.js'

const EMPTY_MESSAGE = { role: 'assistant', content: '' }
const INVALID = { status: 502, code: 'provider_invalid_response' }
/** The finish, with text, and the usage in one event. */
const ALL_AT_ONCE = events({
  ...textChunk(''),
  choices: [choice({ role: 'assistant', content: TEXT }, 'stop')],
  usage: COUNTS,
})

export const finished: readonly Fault[] = [
  ...scripted({
    row: 'empty',
    name: 'the reply is empty, with a finish reason',
    scripts: { stream: [[HEAD, ROLE, FINISH, DONE, 'end']], json: [wholeBody(body({}, EMPTY_MESSAGE))] },
    due: NOTHING,
    answer: 'whole',
  }),
  ...scripted({
    row: 'empty',
    name: 'the reply is empty, with a finish reason only in its second choice: no other route is tried',
    options: { routes: [{}, {}] },
    apis: ['chat'],
    body: { n: 2 },
    scripts: {
      json: [
        wholeBody(
          body({
            choices: [
              { index: 0, message: EMPTY_MESSAGE, finish_reason: null },
              { index: 1, message: EMPTY_MESSAGE, finish_reason: 'stop' },
            ],
          }),
        ),
        wholeBody(body({ usage: COUNTS })),
      ],
    },
    due: NOTHING,
    answer: 'whole',
    also(bench) {
      assert.equal(bench.upstreams[1]!.requests.length, 0)
    },
  }),
  ...scripted({
    row: 'empty',
    name: 'the reply is empty, without a finish reason',
    scripts: { stream: [[HEAD, ROLE, DONE, 'end']], json: [wholeBody(body({ choices: [] }))] },
    due: NOTHING,
    answer: INVALID,
  }),
  ...scripted({
    row: 'empty',
    name: 'the provider sends only [DONE]',
    scripts: { stream: [[HEAD, DONE, 'end']], json: [[HEAD, DONE, 'end']] },
    due: NOTHING,
    answer: INVALID,
  }),
  ...scripted({
    row: 'reported',
    name: 'nothing goes wrong',
    scripts: {
      stream: [[HEAD, ROLE, TOKENS, FINISH, USAGE, DONE, 'end']],
      json: [wholeBody(body({ usage: COUNTS }))],
    },
    due: REPORTED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'reported',
    name: 'the provider answers a streamed request with JSON, or the reverse',
    scripts: {
      stream: [wholeBody(body({ usage: COUNTS }))],
      json: [[HEAD, ROLE, TOKENS, FINISH, USAGE, DONE, 'end']],
    },
    due: REPORTED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'reported',
    name: 'a reported zero is a zero',
    scripts: {
      stream: [[HEAD, ROLE, TOKENS, FINISH, usage({ prompt_tokens: 0, completion_tokens: 0 }), DONE, 'end']],
      json: [wholeBody(body({ usage: { prompt_tokens: 0, completion_tokens: 0 } }))],
    },
    due: FIXED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'reported',
    name: 'no token, but a usage',
    scripts: {
      stream: [[HEAD, ROLE, FINISH, USAGE, DONE, 'end']],
      json: [wholeBody(body({ usage: COUNTS }, EMPTY_MESSAGE))],
    },
    due: REPORTED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'reported',
    name: 'the provider dies after the usage and before [DONE]',
    scripts: {
      stream: [[HEAD, TOKENS, FINISH, USAGE, 'reset']],
      json: [[HEAD, TOKENS, FINISH, USAGE, 'reset']],
    },
    due: REPORTED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'reported',
    name: 'the usage arrives with the finish, and the connection breaks',
    scripts: { stream: [[HEAD, ALL_AT_ONCE, 'hang-up']], json: [[HEAD, ALL_AT_ONCE, 'hang-up']] },
    due: REPORTED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'reported',
    name: 'the usage grows with every chunk, and the last is not the largest',
    scripts: {
      stream: [
        [
          HEAD,
          events({ ...textChunk(TEXT), usage: { prompt_tokens: 11, completion_tokens: 2 } }),
          events({ ...textChunk(TEXT), usage: { prompt_tokens: 11, completion_tokens: 7 } }),
          FINISH,
          usage({ prompt_tokens: 11, completion_tokens: 1 }),
          DONE,
          'end',
        ],
      ],
    },
    due: REPORTED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'reported',
    name: 'the usage contains the provider’s own cost',
    scripts: {
      stream: [
        [
          HEAD,
          TOKENS,
          FINISH,
          usage({ ...COUNTS, cost: 9, cost_details: { x: 1 }, is_byok: true }),
          DONE,
          'end',
        ],
      ],
      json: [wholeBody(body({ usage: { ...COUNTS, cost: 9, cost_details: { x: 1 }, is_byok: true } }))],
    },
    due: REPORTED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'estimated',
    name: 'no usage',
    scripts: { stream: [[HEAD, TOKENS, FINISH, DONE, 'end']], json: [wholeBody(body())] },
    due: ESTIMATED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'estimated',
    name: 'no usage and no finish reason, but [DONE]',
    scripts: {
      stream: [[HEAD, TOKENS, DONE, 'end']],
      json: [
        wholeBody({ ...body(), choices: [{ index: 0, message: { role: 'assistant', content: TEXT } }] }),
      ],
    },
    due: ESTIMATED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'estimated',
    name: 'the provider dies after the finish and before the usage',
    scripts: { stream: [[HEAD, TOKENS, FINISH, 'reset']], json: [[HEAD, TOKENS, FINISH, 'reset']] },
    due: ESTIMATED,
    answer: 'whole',
  }),
  ...scripted({
    row: 'estimated',
    name: 'the usage is implausible',
    scripts: {
      stream: [[HEAD, TOKENS, FINISH, usage({ prompt_tokens: -1, completion_tokens: 1.5 }), DONE, 'end']],
      json: [wholeBody(body({ usage: { prompt_tokens: '11', completion_tokens: 1e30 } }))],
    },
    due: ESTIMATED,
    answer: 'whole',
    async also(bench, call) {
      await bench.event('usage-implausible', call)
    },
  }),
  ...inBothModes((stream) => ({
    row: 'estimated',
    name: 'the provider falls silent after the finish',
    options: { timeouts: { idleMs: 10_000 } },
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, stream)
      await send(reply, HEAD, TOKENS, FINISH)
      await bench.takes(2)
      await bench.clock.elapse(10_000)
      await reply.closed
      return call
    },
    due: ESTIMATED,
    answer: 'whole',
  })),
]
