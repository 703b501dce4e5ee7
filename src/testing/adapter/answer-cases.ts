import { strict as assert } from 'node:assert'
import { type AdapterCase, adapterCase } from './bench.js'
import type { ScriptedAnswer } from './scenario.js'

const usage = { prompt: 21, cached: 8, cacheWrite: 0, completion: 13, reasoning: 0 }

const spoken: ScriptedAnswer = {
  text: ['Grüße', ' an ', 'alle 👋', '\n"quoted"\u2028'],
  toolCalls: [],
  finish: 'stop',
  usage,
}

const calling: ScriptedAnswer = {
  text: ['Let me look.'],
  toolCalls: [
    { id: 'call_1', name: 'look', arguments: '{"at":"the sky","times":2}' },
    { id: 'call_2', name: 'look', arguments: '{"at":"the sea"}' },
  ],
  finish: 'tool_calls',
  usage,
}

const tools = [
  {
    type: 'function',
    function: {
      name: 'look',
      description: 'Looks at something.',
      parameters: {
        type: 'object',
        properties: { at: { type: 'string' }, times: { type: 'integer' } },
        required: ['at'],
      },
    },
  },
]

/** Both kinds of request must give the same result. */
const bothWays: readonly (readonly [id: string, words: string, stream: boolean])[] = [
  ['stream', 'a streamed reply', true],
  ['json', 'a JSON reply', false],
]

export const answerCases: readonly AdapterCase[] = [
  ...bothWays.flatMap(([id, words, stream]) => [
    adapterCase(
      `answer-${id}`,
      `${words} returns its text and one finish reason, and reports its end`,
      { kind: 'answer', answer: spoken },
      async ({ call, run }) => {
        const { reply, terminated, error } = await run(call({ stream }))
        assert.equal(error, undefined)
        assert.equal(reply.text, spoken.text.join(''))
        assert.deepEqual(reply.finishReasons, ['stop'])
        assert.deepEqual(reply.toolCalls, [])
        assert.equal(terminated, true)
      },
    ),
    adapterCase(
      `answer-${id}-length`,
      `${words} cut off at max_tokens finishes with length`,
      { kind: 'answer', answer: { ...spoken, finish: 'length' } },
      async ({ call, run }) => {
        const { reply } = await run(call({ stream }, { max_tokens: 5 }))
        assert.deepEqual(reply.finishReasons, ['length'])
      },
    ),
    adapterCase(
      `answer-${id}-filtered`,
      `${words} that the provider stopped because of its content finishes with content_filter`,
      { kind: 'answer', answer: { ...spoken, finish: 'content_filter' } },
      async ({ call, run }) => {
        const { error, reply } = await run(call({ stream }))
        assert.equal(error, undefined)
        assert.deepEqual(reply.finishReasons, ['content_filter'])
        assert.equal(reply.text, spoken.text.join(''))
      },
    ),
    adapterCase(
      `tools-${id}-twice`,
      `${words} returns two calls of one tool without arguments as two calls`,
      {
        kind: 'answer',
        answer: {
          ...calling,
          toolCalls: ['call_1', 'call_2'].map((id) => ({ id, name: 'look', arguments: '{}' })),
        },
      },
      async ({ call, run }) => {
        const { reply } = await run(call({ stream }, { tools }))
        assert.deepEqual(
          reply.toolCalls.map(({ id, name, arguments: given }) => [id, name, given || '{}']),
          [
            ['call_1', 'look', '{}'],
            ['call_2', 'look', '{}'],
          ],
        )
      },
    ),
    adapterCase(
      `usage-${id}`,
      `${words} reports usage as \`Usage\` defines it, with or after the finish reason`,
      { kind: 'answer', answer: spoken },
      async ({ call, run }) => {
        const { reply } = await run(call({ stream }))
        const { prompt, cached, completion } = reply.usage
        assert.deepEqual({ prompt, cached, completion }, { prompt: 21, cached: 8, completion: 13 })
        assert.equal(reply.usageIsFinal, true)
      },
    ),
    adapterCase(
      `tools-${id}`,
      `${words} returns tool calls with their ids, names and arguments`,
      { kind: 'answer', answer: calling },
      async ({ call, run }) => {
        const { reply } = await run(call({ stream }, { tools, tool_choice: 'auto' }))
        const parsed = reply.toolCalls.map((toolCall) => ({
          ...toolCall,
          arguments: JSON.parse(toolCall.arguments),
        }))
        assert.deepEqual(parsed, [
          { id: 'call_1', name: 'look', arguments: { at: 'the sky', times: 2 } },
          { id: 'call_2', name: 'look', arguments: { at: 'the sea' } },
        ])
        assert.deepEqual(reply.finishReasons, ['tool_calls'])
      },
    ),
  ]),
  adapterCase(
    'answer-stream-noisy',
    'a stream with comments and unknown events between its pieces loses nothing',
    { kind: 'answer', answer: calling, isNoisy: true },
    async ({ call, run }) => {
      const { error, reply, terminated } = await run(call({}, { tools }))
      assert.equal(error, undefined)
      assert.equal(reply.text, calling.text.join(''))
      assert.deepEqual(
        reply.toolCalls.map(({ id }) => id),
        ['call_1', 'call_2'],
      )
      assert.deepEqual([reply.finishReasons, terminated], [['tool_calls'], true])
    },
  ),
  adapterCase(
    'parallel',
    'concurrent calls do not affect each other',
    { kind: 'answer', answer: calling },
    async ({ call, run }) => {
      const asked = Array.from({ length: 8 }, (_, number) =>
        run(call({ stream: number % 2 === 0 }, { tools })),
      )
      for (const { reply, terminated } of await Promise.all(asked)) {
        assert.equal(reply.text, calling.text.join(''))
        assert.deepEqual(
          reply.toolCalls.map(({ id, name, arguments: given }) => ({
            id,
            name,
            arguments: JSON.parse(given),
          })),
          calling.toolCalls.map(({ arguments: given, ...rest }) => ({
            ...rest,
            arguments: JSON.parse(given),
          })),
        )
        assert.deepEqual([reply.finishReasons, terminated], [['tool_calls'], true])
      }
    },
  ),
  adapterCase(
    'trace',
    'the trace context of a call goes to the provider as headers',
    { kind: 'answer', answer: spoken },
    async ({ call, run, requests }) => {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      await run(call({ trace: { traceparent, tracestate: 'acme=words-of-trace' } }))
      await run(call())
      const [traced, plain] = requests.map(({ text }) => text)
      assert.ok(traced?.includes(traceparent), 'the request lacks traceparent')
      assert.ok(traced?.includes('words-of-trace'), 'the request lacks tracestate')
      assert.ok(!plain?.includes('traceparent'), 'the request has a trace context, but its call has none')
    },
  ),
  adapterCase(
    'conversation',
    'a conversation with a system prompt, an image, tool calls and their results reaches the provider complete',
    { kind: 'answer', answer: spoken },
    async ({ call, run, requests }) => {
      const image = `data:image/png;base64,${Buffer.from('an image').toString('base64')}`
      const messages = [
        { role: 'system', content: 'words-of-system' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'words-of-user' },
            { type: 'image_url', image_url: { url: image } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'words-of-tool' },
      ]
      const { error } = await run(call({}, { messages, tools }))
      assert.equal(error, undefined)
      const sent = requests[0]?.text ?? ''
      for (const words of ['words-of-system', 'words-of-user', 'call_1', 'look', 'words-of-tool']) {
        assert.ok(sent.includes(words), `the request lacks ${words}`)
      }
      assert.ok(sent.includes(Buffer.from('an image').toString('base64')), 'the request lacks the image')
    },
  ),
]
