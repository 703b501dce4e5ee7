import { describe, expect, it } from 'vitest'
import { parseChatRequest } from '../../../src/operations/chat/read-request.js'
import { KNOWN_FIELDS } from '../../../src/protocol/request-fields/known-fields.js'
import { body, refusal } from '../chat-request-refusal.js'

function read(fields: Record<string, unknown>) {
  const { forward, leftOut, unlisted } = parseChatRequest(body(fields))
  const { model: _, messages: __, ...sent } = forward
  return { sent, leftOut, unlisted: unlisted.map(({ name }) => name) }
}

/** For each field, a value that is forwarded unchanged. */
const PASSED: Record<string, unknown> = {
  stream: true,
  n: 3,
  max_tokens: 1,
  max_completion_tokens: Number.MAX_SAFE_INTEGER,
  stop: ['a', 'b'],
  seed: -7,
  random_seed: 7,
  logit_bias: { 50256: -100 },
  logprobs: 5,
  top_logprobs: 20,
  dry_sequence_breakers: ['x'],
  stop_token_ids: [1],
  tools: [
    {
      type: 'function',
      function: { name: 'f', description: 'd', parameters: { Type: 'x', url: 'http://x' }, strict: true },
    },
    {
      type: 'custom',
      custom: { name: 'c', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'x' } } },
    },
  ],
  functions: [{ name: 'f', parameters: {} }],
  tool_choice: {
    type: 'allowed_tools',
    allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
  },
  function_call: { name: 'f' },
  response_format: { type: 'json_schema', json_schema: { name: 's', strict: true, schema: { maximum: 1 } } },
  reasoning_effort: 'xhigh',
  reasoning: { effort: 'low', max_tokens: 100, exclude: true, enabled: true },
  reasoning_format: 'parsed',
  thinking: { type: 'enabled', budget_tokens: 2_048 },
  thinking_budget: 5,
  chat_template_kwargs: { enable_thinking: false, thinking_budget: 5 },
  verbosity: 'low',
  prompt_mode: 'reasoning',
  prediction: { type: 'content', content: [{ type: 'text', text: 'x' }] },
  prompt_cache_key: 'key',
  prompt_cache_retention: 'in_memory',
  metadata: { a: 'b' },
  user: 'u',
  safety_identifier: 's',
  cache_control: { type: 'ephemeral' },
}
const DROPPED: Record<string, unknown> = {
  store: false,
  service_tier: 'auto',
  modalities: ['text'],
  stream_options: { include_usage: false, include_obfuscation: false },
  usage: { include: true },
}

function passed(field: string): unknown {
  if (field in PASSED) return PASSED[field]
  const { takes } = KNOWN_FIELDS.get(field)!
  if (takes === 'a number') return 0.5
  if (takes === 'a boolean') return false
  throw new Error(`Give a value for ${field} that passes.`)
}

describe('a known request field', () => {
  it.each([...KNOWN_FIELDS.keys()].filter((field) => !(field in DROPPED)))(
    '%s is forwarded unchanged',
    (field) => {
      const value = passed(field)
      expect(read({ [field]: value })).toEqual({ sent: { [field]: value }, leftOut: [], unlisted: [] })
    },
  )

  it.each(Object.entries(DROPPED))('%s is accepted and not forwarded', (field, value) => {
    expect(read({ [field]: value })).toEqual({ sent: {}, leftOut: [], unlisted: [] })
  })

  it.each([...KNOWN_FIELDS.keys()])(
    '%s counts as absent if null, and is refused if it has no JSON type',
    (field) => {
      expect(read({ [field]: null }).sent).toEqual({})
      const error = refusal(body({ [field]: () => {} }))
      expect(error).toMatchObject({ code: 'invalid_request', status: 400 })
      expect(error.param?.split('.')[0]).toBe(field)
      expect(error.message).toMatch(/ (?:must be|is required)/)
    },
  )

  it.each<[Record<string, unknown>, string]>([
    [{ temperature: '0.7' }, 'temperature'],
    [{ top_k: [1] }, 'top_k'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_tokens: -2 }, 'max_tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ max_tokens: 2 ** 53 }, 'max_tokens'],
    [{ max_tokens: '100' }, 'max_tokens'],
    [{ max_completion_tokens: Infinity }, 'max_completion_tokens'],
    [{ stop: Array.from({ length: 17 }, () => 'x') }, 'stop'],
    [{ stop: [1] }, 'stop'],
    [{ logit_bias: { a: 'b' } }, 'logit_bias'],
    [{ metadata: { tags: ['a'] } }, 'metadata'],
    [{ reasoning_effort: 'High' }, 'reasoning_effort'],
    [{ reasoning: { max_tokens: -1 } }, 'reasoning.max_tokens'],
    [{ reasoning: { maxTokens: 100_000 } }, 'reasoning.max_tokens'],
    [{ thinking: { type: 'enabled', 'budget-tokens': 5 } }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'more' } }, 'thinking.type'],
    [{ chat_template_kwargs: { chat_template: 'x' } }, 'chat_template_kwargs.chat_template'],
    [{ prediction: { type: 'tokens', content: 'x' } }, 'prediction.type'],
    [{ prompt_cache_retention: '7d' }, 'prompt_cache_retention'],
    [{ tools: 'x' }, 'tools'],
    [{ tools: [{ type: 'function' }] }, 'tools.0.function'],
    [{ tools: [{ type: 'function', function: {} }] }, 'tools.0.function.name'],
    [
      { tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] },
      'tools.0.function.parameters',
    ],
    [
      { tools: Array.from({ length: 1_025 }, () => ({ type: 'function', function: { name: 'f' } })) },
      'tools',
    ],
    [{ tool_choice: 'some' }, 'tool_choice'],
    [{ tool_choice: { type: 'web_search' } }, 'tool_choice.type'],
    [
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'mcp' }] } } },
      'tool_choice.allowed_tools.tools.0.type',
    ],
    [{ response_format: {} }, 'response_format.type'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
  ])('is refused as %j, naming the path', (fields, param) => {
    expect(refusal(body(fields))).toMatchObject({ code: 'invalid_request', param })
  })

  it('counts as absent if it is an empty list or object', () => {
    const fields = {
      tools: [],
      functions: [],
      stop: [],
      logit_bias: {},
      metadata: {},
      reasoning: {},
      modalities: [],
    }
    expect(read(fields)).toEqual({ sent: {}, leftOut: [], unlisted: [] })
  })

  it('has a limit of -1 read as none', () => {
    expect(read({ max_tokens: -1, max_completion_tokens: 5 }).sent).toEqual({ max_completion_tokens: 5 })
  })

  it('loses unknown members, at any depth', () => {
    const definition = { name: 'f', parameters: { x: 1 } }
    const { leftOut, sent, unlisted } = read({
      tools: [
        {
          type: 'function',
          Type: 'web_search',
          function: { ...definition, Strict: true, allowed_callers: ['code'] },
          defer_loading: true,
        },
        { type: 'custom', custom: { name: 'c', container: 'x' } },
      ],
      functions: [{ ...definition, type: 'web_search' }],
      tool_choice: { type: 'function', function: { name: 'f', x: 1 }, server: 'y' },
      response_format: { type: 'json_object', schema: { x: 1 }, grammar: 'x' },
      reasoning: { effort: 'low', plugin: 'x' },
      thinking: { type: 'disabled', model: 'x' },
      cache_control: { type: 'ephemeral', ttl: '1h', scope: 'x' },
    })
    expect(sent).toEqual({
      tools: [
        { type: 'function', function: definition },
        { type: 'custom', custom: { name: 'c' } },
      ],
      functions: [definition],
      tool_choice: { type: 'function', function: { name: 'f' } },
      response_format: { type: 'json_object', schema: { x: 1 } },
      reasoning: { effort: 'low' },
      thinking: { type: 'disabled' },
      cache_control: { type: 'ephemeral', ttl: '5m' },
    })
    expect(unlisted).toEqual([])
    expect(leftOut).toEqual([
      'tools.Type',
      'tools.function.Strict',
      'tools.function.allowed_callers',
      'tools.defer_loading',
      'tools.custom.container',
      'functions.type',
      'tool_choice.function.x',
      'tool_choice.server',
      'response_format.grammar',
      'reasoning.plugin',
      'thinking.model',
    ])
  })
})

describe('an unknown request field', () => {
  it.each<[Record<string, unknown>, string]>([
    ...[
      'providerOptions user_config context_window_fallbacks compound_custom venice_parameters enable_search',
      'data_sources lora_path kv_transfer_params best_of speed plugins web_search_options background audio',
      'guided_json structured_outputs grammar chat_template ignore_eos min_tokens constructor toString __proto',
    ].flatMap((names) =>
      names.split(' ').map((name): [Record<string, unknown>, string] => [{ [name]: {} }, name]),
    ),
    [{ store: true }, 'store'],
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ service_tier: 'Auto' }, 'service_tier'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ prompt_cache_retention: '24h' }, 'prompt_cache_retention'],
    [{ tools: [{ type: 'web_search', x: 1 }] }, 'tools.web_search'],
    [{ tools: [{ google_search: {} }] }, 'tools.type'],
    [{ tools: [null] }, 'tools.type'],
    [{ tools: [{ type: 'Function', function: { name: 'f' } }] }, 'tools.Function'],
    [{ response_format: { type: 'grammar', grammar: 'x' } }, 'response_format.grammar'],
  ])('like %j must be named by the host, and is then forwarded unchanged', (fields, name) => {
    expect(read(fields)).toMatchObject({ sent: fields, unlisted: [name] })
  })

  it('is ignored if it is null', () => {
    expect(read({ enable_search: null })).toEqual({ sent: {}, leftOut: [], unlisted: [] })
  })

  it.each([
    ['store', { store: 'true' }],
    ['service_tier', { service_tier: ['priority'] }],
    ['modalities', { modalities: 'audio' }],
  ])('cannot bypass the type of a known one: %s', (param, fields) => {
    expect(refusal(body(fields))).toMatchObject({ code: 'invalid_request', param })
  })

  it.each([
    ['maxTokens', 'max_tokens'],
    ['Max_Tokens', 'max_tokens'],
    ['max-completion-tokens', 'max_completion_tokens'],
    ['MODEL', 'model'],
    ['Messages', 'messages'],
    ['serviceTier', 'service_tier'],
    ['ｓｔｏｒｅ', 'store'],
    ['\u017ftore', 'store'],
    ['to\u200bols', 'tools'],
    ['apiKey', 'api_key'],
    ['baseURL', 'base_url'],
    ['Session_ID', 'session_id'],
  ])('is refused if %j is another spelling of %s', (spelling, field) => {
    expect(refusal(body({ [spelling]: 1 }))).toMatchObject({ code: 'unsupported_parameter', param: field })
  })

  it.each([
    'max_output_tokens',
    'max_new_tokens',
    'n_predict',
    'num_predict',
    'max_length',
    'options',
    'generation_config',
  ])('is refused if it is another limit on output: %s', (field) => {
    const error = refusal(body({ [field]: 1 }))
    expect(error).toMatchObject({ code: 'unsupported_parameter', param: field })
    expect(error.message).toContain('max_completion_tokens')
  })
})
