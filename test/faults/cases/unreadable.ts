import type { Script, Step } from '../../helpers/scripted-upstream.js'
import type { Bench, BenchOptions } from '../bench.js'
import { ESTIMATED, type Fault, REPORTED, scripted, send, takeOverCall } from '../fault.js'
import {
  body,
  COUNTS,
  choice,
  DONE,
  ERROR_FRAME,
  events,
  FINISH,
  HEAD,
  ROLE,
  TEXT,
  TOKENS,
  USAGE,
  wholeBody,
} from '../upstream-scripts.js'

const UNREADABLE = { frame: 'provider_invalid_response' }
const NAMELESS = { function: { arguments: '{"a":1}' } }
const call = (fields: object, name: string | undefined = 'f') => ({
  id: 'a',
  type: 'function',
  function: { ...(name !== undefined && { name }), ...fields },
})
const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)

/** Must not be called: the first has billed the call. */
const OTHER_ROUTE: Script = [HEAD, TOKENS, FINISH, USAGE, DONE, 'end']

/** Messages with an unreadable piece, whatever made the model write it. Each also has readable text. */
const MESSAGES: Readonly<Record<string, object>> = {
  'a tool call has no name': { tool_calls: [{ index: 0, id: 'a', ...NAMELESS }] },
  'there are 1,025 tool calls': {
    tool_calls: Array.from({ length: 1_025 }, (_, index) => ({
      index,
      ...call({ arguments: '' }),
      id: `${index}`,
    })),
  },
  'the arguments of a tool call are a list': { tool_calls: [call({ arguments: [1] })] },
  'the arguments of a tool call are a number': { tool_calls: [call({ arguments: 5 })] },
  'the arguments of a tool call are nested too deeply': { tool_calls: [call({ arguments: nested(200) })] },
  'tool_calls is not a list': { tool_calls: { 0: call({ arguments: '' }) } },
  'a tool call is not an object': { tool_calls: ['f()'] },
  'the input of a custom tool call is a number': {
    tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'f', input: 5 } }],
  },
  'a part of the content is a list': { content: [['text']] },
  'a field of the message is nested too deeply': { extra: nested(200) },
}

export const unreadable: readonly Fault[] = [
  ...Object.entries(MESSAGES).flatMap(([name, message]) => [
    ...scripted({
      row: 'unreadable',
      name: `after the first token, ${name}`,
      options: withRoutes(),
      scripts: {
        stream: [streamOf(message), OTHER_ROUTE],
        json: [
          wholeBody(body({ usage: COUNTS }, { role: 'assistant', content: TEXT, ...message })),
          OTHER_ROUTE,
        ],
      },
      due: REPORTED,
      answer: { stream: UNREADABLE, json: wholeAnswer(message) },
      also: onlyOneRoute,
    }),
    ...scripted({
      row: 'unreadable',
      name: `${name}, and nothing else arrives`,
      options: withRoutes(),
      scripts: {
        stream: [[HEAD, ROLE, events(chunkOf(message)), FINISH, USAGE, DONE, 'end'], OTHER_ROUTE],
        json: [
          wholeBody(body({ usage: COUNTS }, { role: 'assistant', content: null, ...message })),
          OTHER_ROUTE,
        ],
      },
      due: REPORTED,
      answer: { stream: UNREADABLE, json: wholeAnswer(message) },
      also: onlyOneRoute,
    }),
  ]),
  ...scripted({
    row: 'unreadable',
    name: 'a delta or message is text',
    options: withRoutes(),
    scripts: {
      stream: [[HEAD, TOKENS, events(chunkOf('text' as never)), FINISH, USAGE, DONE, 'end'], OTHER_ROUTE],
      json: [wholeBody(body({ usage: COUNTS }, 'text' as never)), OTHER_ROUTE],
    },
    due: REPORTED,
    answer: { stream: UNREADABLE, json: 'whole' },
    also: onlyOneRoute,
  }),
  ...scripted({
    row: 'unreadable',
    name: 'the content is an object of no known shape',
    options: withRoutes(),
    scripts: {
      stream: [streamOf({ content: { a: 5 } }), OTHER_ROUTE],
      json: [wholeBody(body({ usage: COUNTS }, { role: 'assistant', content: { a: 5 } })), OTHER_ROUTE],
    },
    due: REPORTED,
    answer: { stream: UNREADABLE, json: 'whole' },
    also: onlyOneRoute,
  }),
  ...scripted({
    row: 'unreadable',
    name: 'there is one choice more than requested',
    options: withRoutes(),
    apis: ['chat'],
    body: { n: 2 },
    scripts: {
      stream: [
        [
          HEAD,
          TOKENS,
          events({ choices: [{ ...choice({ content: TEXT }), index: 2 }] }),
          FINISH,
          USAGE,
          DONE,
          'end',
        ],
        OTHER_ROUTE,
      ],
      json: [
        wholeBody({
          ...body({ usage: COUNTS }),
          choices: [0, 1, 2].map((index) => ({
            index,
            message: { role: 'assistant', content: TEXT },
            finish_reason: 'stop',
          })),
        }),
        OTHER_ROUTE,
      ],
    },
    due: REPORTED,
    answer: { stream: UNREADABLE, json: 'whole' },
    also: onlyOneRoute,
  }),
  // The text, and that of the call: (0.001 + 0.0001 + 5 x 0.00002 + 1 x 0.00002) x 1.2 + 0.0005.
  ...scripted({
    row: 'unreadable',
    name: 'a tool call has no name, and no usage arrives',
    scripts: {
      stream: [
        [HEAD, TOKENS, events(chunkOf({ tool_calls: [{ index: 0, ...NAMELESS }] })), FINISH, DONE, 'end'],
      ],
      json: [wholeBody(body({}, { role: 'assistant', content: TEXT, tool_calls: [NAMELESS] }))],
    },
    due: '0.001964',
    answer: { stream: UNREADABLE, json: 'whole' },
  }),
  ...scripted({
    row: 'unreadable',
    name: 'a piece is unreadable, and then the provider dies',
    scripts: { stream: [[HEAD, TOKENS, events(chunkOf({ tool_calls: 'f()' })), 'reset']] },
    due: ESTIMATED,
    answer: { frame: 'provider_error' },
  }),
  ...scripted({
    row: 'unreadable',
    name: 'a piece is unreadable, and an error follows the usage',
    scripts: {
      stream: [
        [HEAD, TOKENS, events(chunkOf({ tool_calls: 'f()' })), FINISH, USAGE, ERROR_FRAME, DONE, 'end'],
      ],
    },
    due: REPORTED,
    answer: { frame: 'provider_error' },
  }),
  ...[
    'malformed_function_call',
    'function_call_filter: MALFORMED_FUNCTION_CALL',
    'UNEXPECTED_TOOL_CALL',
  ].flatMap((reason) => [
    ...scripted({
      row: 'unreadable' as const,
      name: `the provider dropped a tool call that it could not read (\`${reason}\`), and nothing else arrives`,
      options: withRoutes(),
      scripts: {
        stream: [[HEAD, ROLE, ends(reason), USAGE, DONE, 'end'], OTHER_ROUTE],
        json: [wholeBody({ choices: [{ index: 0, finish_reason: reason }], usage: COUNTS }), OTHER_ROUTE],
      },
      due: REPORTED,
      answer: { stream: UNREADABLE, json: 'whole' as const },
      also: onlyOneRoute,
    }),
    ...scripted({
      row: 'unreadable' as const,
      name: `the provider dropped a tool call that it could not read (\`${reason}\`), after text`,
      scripts: {
        stream: [[HEAD, TOKENS, ends(reason), USAGE, DONE, 'end']],
        json: [
          wholeBody({
            choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: reason }],
            usage: COUNTS,
          }),
        ],
      },
      due: REPORTED,
      answer: { stream: UNREADABLE, json: 'whole' as const },
    }),
  ]),
  {
    row: 'unreadable',
    name: 'a piece is unreadable, and the client leaves before the usage',
    stream: true,
    async play(bench) {
      const { call, reply } = await takeOverCall(bench, true)
      await send(reply, HEAD, TOKENS, events(chunkOf({ tool_calls: 'f()' })))
      await bench.takes(2)
      await bench.leave(call)
      await send(reply, FINISH, USAGE, DONE, 'end')
      await bench.event('request-end', call)
      return call
    },
    due: REPORTED,
    answer: 'left',
  },
]

function withRoutes(): BenchOptions {
  return { routes: [{}, {}] }
}

function onlyOneRoute(bench: Bench): void {
  const asked = bench.upstreams.map(({ requests }) => requests.length)
  if (asked[0] !== 1 || asked[1] !== 0) throw new Error(`called ${asked.join(' and ')} times`)
  for (const { failureRate } of bench.router.routes()) {
    if (failureRate > 0) throw new Error("the route is blamed for the model's output")
  }
}

function chunkOf(delta: object): object {
  return { id: 'chatcmpl-upstream', choices: [choice(delta)] }
}

function streamOf(message: object): Script {
  return [HEAD, TOKENS, events(chunkOf(message)), FINISH, USAGE, DONE, 'end']
}

function ends(reason: string): Step {
  return events({ choices: [choice({}, reason)] })
}

/** There are readable calls, so the reply ends with them. */
function wholeAnswer(message: object): 'whole' | 'calls' {
  const calls = (message as { tool_calls?: unknown }).tool_calls
  return Array.isArray(calls) && calls.length > 1_024 ? 'calls' : 'whole'
}
