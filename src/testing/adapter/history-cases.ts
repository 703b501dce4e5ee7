import { strict as assert } from 'node:assert'
import { type AdapterCase, adapterCase } from './bench.js'
import type { ScriptedAnswer } from './scenario.js'

const answer: ScriptedAnswer = {
  text: ['Fine.'],
  toolCalls: [],
  finish: 'stop',
  usage: { prompt: 21, cached: 0, cacheWrite: 0, completion: 2, reasoning: 0 },
}

const tools = [
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
]
const user = (content: string) => ({ role: 'user', content })
const called = (args: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: args } }],
})
const result = { role: 'tool', tool_call_id: 'call_1', content: 'words-of-tool' }

/** Conversations that clients send after replies of any provider. Each must succeed with these texts. */
const conversations: readonly (readonly [
  id: string,
  words: string,
  messages: readonly object[],
  sent: readonly string[],
])[] = [
  [
    'history-nulls',
    'an earlier reply with members that are null or empty, as client libraries return it',
    [
      user('Hi'),
      {
        role: 'assistant',
        content: 'words-of-reply',
        refusal: null,
        annotations: [],
        audio: null,
        function_call: null,
        tool_calls: null,
      },
      user('words-of-user'),
    ],
    ['words-of-reply', 'words-of-user'],
  ],
  [
    'history-empty',
    'an earlier reply that says nothing',
    [user('words-of-user'), { role: 'assistant', content: '' }, user('more-words')],
    ['words-of-user', 'more-words'],
  ],
  [
    'history-reasoning',
    'the reasoning of a reply of another provider, in every form that clients send back',
    [
      user('Hi'),
      {
        role: 'assistant',
        content: 'words-of-reply',
        reasoning: 'Hm.',
        reasoning_content: 'Hm.',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm.', signature: 'made-elsewhere', format: 'unknown', index: 0 },
          { type: 'reasoning.encrypted', data: 'made-elsewhere', format: 'unknown', index: 1 },
        ],
      },
      user('words-of-user'),
    ],
    ['words-of-reply', 'words-of-user'],
  ],
  [
    'history-broken-arguments',
    'an earlier call whose arguments broke off',
    [user('Hi'), called('{"at": "the s'), result],
    ['look', 'words-of-tool'],
  ],
  [
    'history-interrupted',
    'an earlier call without a result',
    [user('Hi'), called('{}'), user('words-of-user')],
    ['look', 'words-of-user'],
  ],
  [
    'history-developer',
    'a message of the role developer',
    [{ role: 'developer', content: 'words-of-developer' }, user('words-of-user')],
    ['words-of-developer', 'words-of-user'],
  ],
  [
    'history-function',
    'a call and its result in the old form',
    [
      user('Hi'),
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
      { role: 'function', name: 'look', content: 'words-of-function' },
    ],
    ['look', 'words-of-function'],
  ],
]

export const historyCases: readonly AdapterCase[] = conversations.map(([id, words, messages, sent]) =>
  adapterCase(id, `${words} goes to the provider`, { kind: 'answer', answer }, async (bench) => {
    const { call, run, requests } = bench
    const { error, reply } = await run(call({}, { messages, tools }))
    assert.equal(error, undefined)
    assert.equal(reply.text, 'Fine.')
    assert.equal(requests.length, 1)
    for (const word of sent) assert.ok(requests[0]?.text.includes(word), `the request lacks ${word}`)
  }),
)
