import { describe, expect, it } from 'vitest'
import { withoutField, writeFields } from '../../src/conversation/chat-fields.js'
import { readFields } from '../../src/conversation/read-fields.js'
import { ExactInteger } from '../../src/protocol/exact-data.js'
import { KNOWN_FIELDS } from '../../src/protocol/request-fields/known-fields.js'

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const look = { type: 'function', function: { name: 'look', description: 'Looks', parameters: schema } }
const grammar = { syntax: 'lark', definition: 'start: "a"' }
const patch = { type: 'custom', custom: { name: 'patch', format: { type: 'grammar', grammar } } }

/** Fields of a chat that are the same after they were read and written. */
const SAME: readonly (readonly [field: string, value: unknown])[] = [
  ['n', 2],
  ['max_tokens', 9],
  ['max_completion_tokens', 9],
  ['stop', ['a', 'b']],
  ['temperature', 0],
  ['top_p', 0.5],
  ['top_k', 3],
  ['frequency_penalty', -1],
  ['presence_penalty', 0.5],
  ['seed', 7],
  ['seed', new ExactInteger('9007199254740993')],
  ['logprobs', true],
  ['top_logprobs', 2],
  ['tools', [look, { ...patch, cache_control: { type: 'ephemeral' } }]],
  ['tools', [{ type: 'function', function: { name: 'look', strict: false } }]],
  ['tools', [{ type: 'web_search_20250305', max_uses: 1 }]],
  ['functions', [look.function]],
  ['tool_choice', 'none'],
  ['tool_choice', { type: 'custom', custom: { name: 'patch' } }],
  [
    'tool_choice',
    {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] },
    },
  ],
  ['parallel_tool_calls', false],
  ['response_format', { type: 'json_object' }],
  [
    'response_format',
    { type: 'json_schema', json_schema: { name: 'a', description: 'A', strict: true, schema } },
  ],
  ['reasoning_effort', 'low'],
  ['reasoning', { effort: 'high' }],
  ['reasoning', { max_tokens: 2_000 }],
  ['verbosity', 'low'],
  ['user', 'u'],
  ['safety_identifier', 's'],
  ['metadata', { a: 'b' }],
  ['prompt_cache_key', 'k'],
  ['prompt_cache_retention', '24h'],
  ['cache_control', { type: 'ephemeral' }],
  ['min_p', 0.1],
  ['thinking', { type: 'enabled', budget_tokens: 2_000 }],
  ['function_call', 'none'],
  ['anything', { the: ['host', 'allows'] }],
]

describe('the settings of a conversation', () => {
  it.each(SAME)('say what the %s of a chat says: %j', (field, value) => {
    expect(writeFields(readFields({ [field]: value }))).toEqual({ [field]: value })
  })

  it('come from the fields of a chat alone', () => {
    const chat = { model: 'm', messages: [], stream: true, stream_options: {}, temperature: null }
    expect(readFields(chat)).toMatchObject({ stop: [], tools: [], others: {} })
    expect(writeFields(readFields(chat))).toEqual({})
  })

  it('have one way to say a thing that chats say in several ways', () => {
    const read = (fields: object) => writeFields(readFields({ ...fields }))
    expect(read({ max_tokens: 8, max_completion_tokens: 9 })).toEqual({ max_completion_tokens: 9 })
    expect(read({ stop: 'a' })).toEqual({ stop: ['a'] })
    expect(read({ tool_choice: 'any' })).toEqual({ tool_choice: 'required' })
    expect(read({ logprobs: 3 })).toEqual({ logprobs: true, top_logprobs: 3 })
    expect(read({ response_format: { type: 'text' } })).toEqual({})
    expect(read({ response_format: { type: 'json_object', schema } })).toEqual({
      response_format: { type: 'json_schema', json_schema: { schema } },
    })
    expect(read({ reasoning: { enabled: false }, reasoning_effort: 'high' })).toEqual({
      reasoning: { effort: 'none' },
    })
    expect(read({ reasoning: { enabled: true } })).toEqual({ reasoning: { effort: 'medium' } })
    expect(read({ reasoning: { summary: 'auto' }, reasoning_effort: 'high' })).toEqual({
      reasoning_effort: 'high',
    })
    expect(read({ functions: [look.function], function_call: { name: 'look' } })).toEqual({
      functions: [look.function],
      tool_choice: { type: 'function', function: { name: 'look' } },
    })
  })

  it('leave the fields that an adapter reads as the client sent them', () => {
    const reasoning = { effort: 'low', summary: 'auto' }
    const { others, reasoning: read } = readFields({ reasoning, stop: 'a' }, ['reasoning', 'stop'])
    expect(others).toEqual({ reasoning, stop: 'a' })
    expect(read).toBeUndefined()
  })

  it.each(SAME.filter(([field]) => field !== 'functions'))(
    'lose %s and nothing else if it is left out: %j',
    (field, value) => {
      const other = field === 'min_p' ? 'top_a' : 'min_p'
      const settings = readFields({ [field]: value, [other]: 0.5 })
      const left = withoutField(settings, field)
      expect(writeFields(left)).toEqual({ [other]: 0.5 })
      expect(withoutField(settings, 'top_a_b')).toBe(settings)
    },
  )

  it('keep each field of a chat that shapes its reply', () => {
    const known = new Set(['stream', 'stream_options', ...SAME.map(([field]) => field)])
    for (const field of KNOWN_FIELDS.keys()) {
      if (!known.has(field)) expect(writeFields(readFields({ [field]: 1 })), field).toEqual({ [field]: 1 })
    }
  })

  it.each([
    [{ temperature: '1' }, 'temperature'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ user: 5 }, 'user'],
    [{ tools: [{ type: 'function', function: {} }] }, 'tools.0.function.name'],
    [{ tool_choice: { type: 'mcp' } }, 'tool_choice'],
    [{ response_format: { type: 'grammar' } }, 'response_format.type'],
    [{ reasoning: { exclude: true } }, 'reasoning.exclude'],
    [{ reasoning: { max_tokens: 0 } }, 'reasoning.max_tokens'],
  ])('are refused by the path of what cannot be read: %j', (fields, param) => {
    expect(() => readFields(fields)).toThrow(
      expect.objectContaining({ reason: 'unsupported-request', param }),
    )
  })
})
