import { calls, END, type OddReply, testAssemblers, testOddReplies, text, whole } from './mends.js'

const ROME = { id: 'a', name: 'weather', arguments: '{"in":"Rome"}' }
const first = (name: string, args: string | undefined, more: object = {}) =>
  calls({
    index: 0,
    id: 'a',
    type: 'function',
    function: { name, ...(args !== undefined && { arguments: args }) },
    ...more,
  })
const args = (piece: unknown) => calls({ index: 0, function: { arguments: piece } })
const called = (stream: string, ...kinds: readonly string[]): OddReply => ({
  stream: stream + END,
  read: { text: '', toolCalls: [ROME], finishReason: 'tool_calls' },
  kinds,
})
const MADE_UP = (expected: object) => expected as typeof ROME

const replies: Readonly<Record<string, OddReply>> = {
  'arguments that begin with {}': called(
    first('weather', '{}') + args('{"in":') + args('"Rome"}'),
    'arguments-repeated',
  ),
  'arguments that begin with {} under a repeated name': called(
    first('weather', '{}') + first('weather', '{"in":') + args('"Rome"}'),
    'arguments-repeated',
  ),
  'arguments that begin with null': called(
    first('weather', 'null') + args('{"in":"Rome"}'),
    'arguments-repeated',
  ),
  'arguments that begin with an empty object': called(
    calls({ index: 0, id: 'a', function: { name: 'weather', arguments: {} } }) + args('{"in":"Rome"}'),
    'arguments-repeated',
  ),
  'arguments that come whole twice': called(
    first('weather', '{"in":"Rome"}') + args('{"in":"Rome"}'),
    'arguments-repeated',
  ),
  'arguments that come whole twice with their name': called(
    first('weather', '{"in":"Rome"}') + first('weather', '{"in":"Rome"}'),
    'arguments-repeated',
  ),
  'arguments that come in pieces and then whole': called(
    first('weather', '') + args('{"in":') + args('"Rome"}') + args('{"in":"Rome"}'),
    'arguments-repeated',
  ),
  'arguments that come in pieces twice': called(
    first('weather', '{"in":') + args('"Rome"}') + args('{"in":') + args('"Rome"}'),
    'arguments-repeated',
  ),
  'arguments whose end comes twice': {
    ...called(first('weather', '{"in":') + args('"Rome"}') + args('"}'), 'arguments-cut'),
    dropped: ['tool_calls.function.arguments'],
  },
  'arguments that are JSON in a string': called(
    first('weather', '"{\\"in\\":') + args('\\"Rome\\"}"'),
    'arguments-decoded',
  ),
  'arguments with a digit as a number': {
    ...called(first('weather', '') + args('{"in":') + args(5) + args('}')),
    read: { toolCalls: [{ ...ROME, arguments: '{"in":5}' }], finishReason: 'tool_calls' },
  },
  'a name in pieces before the arguments': called(
    first('wea', '') + first('ther', '') + args('{"in":"Rome"}'),
    'tool-name-joined',
  ),
  'a name in pieces without arguments': called(
    calls({ index: 0, id: 'a', function: { name: 'wea' } }) +
      calls({ index: 0, function: { name: 'ther' } }) +
      args('{"in":"Rome"}'),
    'tool-name-joined',
  ),
  'a name in pieces beside the arguments': called(
    first('wea', '{"in"') + first('ther', ':"Rome"}'),
    'tool-name-joined',
  ),
  'a name that grows': called(
    first('wea', '') + first('weather', '') + args('{"in":"Rome"}'),
    'tool-name-joined',
  ),
  'a name in pieces that only the finish completes': {
    ...called(first('wea', '') + first('ther', ''), 'tool-name-joined'),
    read: { toolCalls: [{ ...ROME, arguments: '{}' }], finishReason: 'tool_calls' },
  },
  'a name in pieces that another call completes': {
    ...called(
      first('wea', '') +
        first('ther', '') +
        calls({ index: 1, id: 'b', function: { name: 'now', arguments: '{}' } }),
      'tool-name-joined',
    ),
    read: {
      toolCalls: [
        { ...ROME, arguments: '{}' },
        { id: 'b', name: 'now', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
    },
  },
  'text between the name and the arguments': {
    ...called(first('weather', '') + text('So') + args('{"in":"Rome"}')),
    read: { text: 'So', toolCalls: [ROME], finishReason: 'tool_calls' },
  },
  'two calls at one index with different ids': {
    ...called(
      calls({ index: 0, id: 'a', function: { name: 'now', arguments: '' } }) +
        calls({ index: 0, id: 'b', function: { name: 'now', arguments: '' } }),
    ),
    read: {
      toolCalls: [
        { id: 'a', name: 'now', arguments: '{}' },
        { id: 'b', name: 'now', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
    },
  },
  'two calls at one index with different ids and {}': {
    ...called(
      calls({ index: 0, id: 'a', function: { name: 'now', arguments: '{}' } }) +
        calls({ index: 0, id: 'b', function: { name: 'now', arguments: '{}' } }),
    ),
    read: {
      toolCalls: [
        { id: 'a', name: 'now', arguments: '{}' },
        { id: 'b', name: 'now', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
    },
  },
  'two calls of one tool with their arguments in a row': {
    ...called(first('weather', '{"in":"Rome"}{"in":"Paris"}'), 'arguments-split'),
    read: {
      toolCalls: [ROME, MADE_UP({ name: 'weather', arguments: '{"in":"Paris"}' })],
      finishReason: 'tool_calls',
    },
  },
  'a body whose arguments begin with {}': {
    body: whole({ tool_calls: [{ id: 'a', function: { name: 'weather', arguments: '{}{"in":"Rome"}' } }] }),
    read: { text: '', toolCalls: [ROME], finishReason: 'tool_calls' },
    kinds: ['arguments-repeated'],
  },
  'a body with one call twice': {
    body: whole({
      tool_calls: [1, 2].map(() => ({ id: 'a', function: { name: 'weather', arguments: '{"in":"Rome"}' } })),
    }),
    read: { text: '', toolCalls: [ROME], finishReason: 'tool_calls' },
    kinds: ['arguments-repeated'],
  },
  'a body whose arguments are JSON in a string': {
    body: whole({
      tool_calls: [{ id: 'a', function: { name: 'weather', arguments: '"{\\"in\\":\\"Rome\\"}"' } }],
    }),
    read: { text: '', toolCalls: [ROME], finishReason: 'tool_calls' },
    kinds: ['arguments-decoded'],
  },
}

testOddReplies('a reply with', replies)
testAssemblers(replies)
