/** JSON as a provider sends it. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
export type JsonObject = { [name: string]: Json }

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The language that a provider speaks, and so the adapter that reads it. */
export type Language = 'openai' | 'gemini' | 'anthropic' | 'aisdk-v2' | 'aisdk-v3'

/** A good reply in the style of a provider, invented: the events of a stream, or one body. */
export interface Recording {
  readonly name: string
  readonly language: Language
  readonly events?: readonly JsonObject[]
  readonly body?: JsonObject
  /** Lines that the provider sends before the first event. */
  readonly before?: string
  readonly newline?: '\n' | '\r\n'
}

const head = (id: string, model: string, more: JsonObject = {}): JsonObject => ({
  id,
  object: 'chat.completion.chunk',
  created: 1_764_000_000,
  model,
  ...more,
})
const pick = (delta: JsonObject, finish: string | null = null, more: JsonObject = {}): Json[] => [
  { index: 0, delta, ...more, finish_reason: finish },
]
const callPiece = (index: number, details: JsonObject, more: JsonObject = {}): JsonObject => ({
  tool_calls: [{ index, ...more, function: details }],
})

function openai(): JsonObject[] {
  const top = head('chatcmpl-A1', 'gpt-4.1-nano', { service_tier: 'default', system_fingerprint: 'fp_de' })
  const nothing = { logprobs: null }
  const chunk = (delta: JsonObject, pad: string, finish: string | null = null): JsonObject => ({
    ...top,
    choices: pick(delta, finish, nothing),
    usage: null,
    obfuscation: pad,
  })
  return [
    chunk({ role: 'assistant', content: '', refusal: null }, 'Qup1B'),
    ...['Grüße', ' aus', ' "Köln"', ' \\o/ ', '\u{1f389}\n'].map((content, at) =>
      chunk({ content }, 'xyzAB12'.slice(at)),
    ),
    chunk({}, 'zap0', 'stop'),
    {
      ...top,
      choices: [],
      usage: {
        prompt_tokens: 1_516,
        completion_tokens: 30,
        total_tokens: 1_546,
        prompt_tokens_details: { cached_tokens: 1_024, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0 },
      },
      obfuscation: 'h9RiQLL',
    },
  ]
}

function openaiTools(): JsonObject[] {
  const top = head('chatcmpl-A2', 'gpt-5-mini', { service_tier: 'default' })
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...top,
    choices: pick(delta, finish),
    usage: null,
  })
  const call = (index: number, id: string, name: string, args: readonly string[]): JsonObject[] => [
    chunk(callPiece(index, { name, arguments: '' }, { id, type: 'function' })),
    ...args.map((piece) => chunk(callPiece(index, { arguments: piece }))),
  ]
  return [
    chunk({ role: 'assistant', content: null }),
    ...call(0, 'call_aB1', 'get_weather', ['{"', 'city', '":"', 'Köln', '"}']),
    ...call(1, 'call_aB2', 'get_time', ['{"zone":', '"CET"', '}']),
    chunk({}, 'tool_calls'),
    {
      ...top,
      choices: [],
      usage: {
        prompt_tokens: 88,
        completion_tokens: 61,
        total_tokens: 149,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 24 },
      },
    },
  ]
}

function openaiRefusal(): JsonObject[] {
  const top = head('chatcmpl-A3', 'gpt-4o')
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...top,
    choices: pick(delta, finish),
  })
  return [
    chunk({ role: 'assistant', content: '', refusal: null }),
    ...['I cannot', ' help', ' with that.'].map((refusal) => chunk({ refusal })),
    chunk({}, 'stop'),
    { ...top, choices: [], usage: { prompt_tokens: 40, completion_tokens: 9, total_tokens: 49 } },
  ]
}

function azure(): JsonObject[] {
  const filters = { hate: { filtered: false, severity: 'safe' } }
  const top = head('chatcmpl-Az', 'gpt-4o-2024-11-20', { system_fingerprint: 'fp_az' })
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...top,
    choices: pick(delta, finish, { content_filter_results: filters, logprobs: null }),
  })
  return [
    {
      id: '',
      object: '',
      created: 0,
      model: '',
      choices: [],
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: filters }],
    },
    {
      ...top,
      choices: pick({ role: 'assistant', content: '', refusal: null }, null, { content_filter_results: {} }),
    },
    ...['The', ' answer', ' is', ' 42.'].map((content) => chunk({ content })),
    { ...top, choices: pick({}, 'stop', { content_filter_results: {} }) },
    { ...top, choices: [], usage: { prompt_tokens: 19, completion_tokens: 5, total_tokens: 24 } },
  ]
}

/** The usage grows with every chunk, only the total counts the thoughts, and a tool call ends with `stop`. */
function gemini(): JsonObject[] {
  const top = head('Zr8', 'gemini-2.5-flash')
  const usage = (completion: number, total: number): JsonObject => ({
    usage: { prompt_tokens: 9, completion_tokens: completion, total_tokens: total },
  })
  const call: JsonObject = {
    extra_content: { google: { thought_signature: 'c2ln' } },
    function: { name: 'weather', arguments: '{"in":"São Paulo"}' },
    id: 'function-call-77',
    type: 'function',
    index: 0,
  }
  return [
    { ...top, choices: pick({ content: 'Olá', role: 'assistant' }), ...usage(1, 40) },
    { ...top, choices: pick({ content: ', você', role: 'assistant' }), ...usage(3, 42) },
    { ...top, choices: pick({ role: 'assistant', tool_calls: [call] }, 'stop'), ...usage(12, 60) },
  ]
}

function deepseek(): JsonObject[] {
  const top = head('cca85624', 'deepseek-reasoner', { system_fingerprint: 'fp_ea_kvcache' })
  const chunk = (delta: JsonObject, finish: string | null = null, usage: Json = null): JsonObject => ({
    ...top,
    choices: pick(delta, finish, { logprobs: null }),
    usage,
  })
  return [
    chunk({ role: 'assistant', content: null, reasoning_content: '' }),
    chunk({ content: null, reasoning_content: 'Der' }),
    chunk({ content: null, reasoning_content: ' Wetterbericht…' }),
    chunk({ content: 'Moment', reasoning_content: null }),
    chunk(callPiece(0, { name: 'weather', arguments: '' }, { id: 'call_00_x', type: 'function' })),
    ...['{', '"', 'location', '":"', 'Köln', '"}'].map((piece) => chunk(callPiece(0, { arguments: piece }))),
    chunk({ content: '', reasoning_content: null }, 'tool_calls', {
      prompt_tokens: 339,
      completion_tokens: 83,
      total_tokens: 422,
      prompt_tokens_details: { cached_tokens: 320 },
      completion_tokens_details: { reasoning_tokens: 39 },
      prompt_cache_hit_tokens: 320,
      prompt_cache_miss_tokens: 19,
    }),
  ]
}

/** A usage with each chunk, as vLLM sends it with `continuous_usage_stats`. */
function vllm(): JsonObject[] {
  const top = head('chatcmpl-v', 'qwen3-32b')
  let completion = 0
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => {
    completion += finish === null ? 3 : 0
    return {
      ...top,
      choices: pick(delta, finish, { logprobs: null, stop_reason: null, token_ids: null }),
      usage: { prompt_tokens: 21, total_tokens: 21 + completion, completion_tokens: completion },
    }
  }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...['Let', ' me', ' see'].map((reasoning_content) => chunk({ reasoning_content })),
    ...['It', ' is', ' 7'].map((content) => chunk({ content })),
    chunk({ content: '' }, 'stop'),
    {
      ...top,
      choices: [],
      usage: { prompt_tokens: 21, total_tokens: 21 + completion, completion_tokens: completion },
    },
  ]
}

function mistral(): JsonObject[] {
  const top = head('b3999b8c', 'magistral-small')
  const chunk = (delta: JsonObject, finish: string | null = null, more: JsonObject = {}): JsonObject => ({
    ...top,
    choices: pick(delta, finish, { logprobs: null }),
    ...more,
  })
  return [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Voyons' }] }] }),
    chunk({ content: [{ type: 'text', text: 'Voilà' }] }),
    chunk({ content: ' !' }),
    chunk(
      {
        content: '',
        tool_calls: [
          { id: 'gSIMJiOkT', function: { name: 'weather', arguments: '{"at": "Nîmes"}' }, index: 0 },
        ],
      },
      'tool_calls',
      { usage: { prompt_tokens: 124, total_tokens: 146, completion_tokens: 22 } },
    ),
  ]
}

function groq(): JsonObject[] {
  const top = head('chatcmpl-b6', 'qwen/qwen3-32b', { system_fingerprint: 'fp_78' })
  const usage = {
    queue_time: 0.04,
    prompt_tokens: 210,
    prompt_time: 0.01,
    completion_tokens: 15,
    total_tokens: 225,
    completion_tokens_details: { reasoning_tokens: 5 },
  }
  const nothing = { logprobs: null }
  return [
    {
      ...top,
      choices: pick({ role: 'assistant', content: null }, null, nothing),
      x_groq: { id: 'req_1', seed: 1 },
    },
    { ...top, choices: pick({ reasoning: 'Okay' }, null, nothing) },
    { ...top, choices: pick({ reasoning: ', 天気' }, null, nothing) },
    { ...top, choices: pick({ content: '見ます' }, null, nothing) },
    {
      ...top,
      choices: pick(
        {
          tool_calls: [
            {
              id: 'tk85',
              type: 'function',
              function: { name: 'weather', arguments: '{"in":"東京"}' },
              index: 0,
            },
            { id: 'tk86', type: 'function', function: { name: 'now', arguments: '{}' }, index: 1 },
          ],
        },
        null,
        nothing,
      ),
    },
    { ...top, choices: pick({}, 'tool_calls', nothing), x_groq: { id: 'req_1', usage }, usage },
  ]
}

function openrouter(): JsonObject[] {
  const top = head('gen-17', 'z-ai/glm-4.6', { provider: 'Acme' })
  const chunk = (
    delta: JsonObject,
    finish: string | null = null,
    native: string | null = null,
  ): JsonObject => ({
    ...top,
    choices: [{ index: 0, delta, finish_reason: finish, native_finish_reason: native, logprobs: null }],
  })
  const thought = (text: string): JsonObject => ({
    role: 'assistant',
    content: '',
    reasoning: text,
    reasoning_details: [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }],
  })
  return [
    chunk(thought('First')),
    chunk(thought(', think.')),
    chunk({ role: 'assistant', content: 'Done' }),
    chunk({ role: 'assistant', content: ' – ok' }),
    chunk({ role: 'assistant', content: '' }, 'stop', 'end_turn'),
    {
      ...top,
      choices: pick({ role: 'assistant', content: '' }, null, { native_finish_reason: null }),
      usage: {
        prompt_tokens: 12,
        completion_tokens: 20,
        total_tokens: 32,
        cost: 0.000123,
        is_byok: false,
        prompt_tokens_details: { cached_tokens: 3 },
        cost_details: { upstream_inference_cost: null },
        completion_tokens_details: { reasoning_tokens: 11 },
      },
    },
  ]
}

function llamaCpp(): JsonObject[] {
  const top = head('chatcmpl-ll', 'gpt-oss-20b', { system_fingerprint: 'b6700' })
  return [
    { ...top, choices: pick({ role: 'assistant', content: null }) },
    ...['One', ', two', ', 3'].map((content): JsonObject => ({ ...top, choices: pick({ content }) })),
    { ...top, choices: pick({}, 'stop') },
    {
      ...top,
      choices: [],
      usage: { completion_tokens: 6, prompt_tokens: 70, total_tokens: 76 },
      timings: { cache_n: 0, prompt_n: 70, predicted_n: 6, predicted_ms: 51.5 },
    },
  ]
}

function ollama(): JsonObject[] {
  const top = head('chatcmpl-777', 'llama3.2', { system_fingerprint: 'fp_ollama' })
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...top,
    choices: pick({ role: 'assistant', ...delta }, finish),
  })
  return [
    chunk({ content: 'Sure' }),
    chunk({ content: '. ' }),
    chunk({
      content: '',
      tool_calls: [
        {
          id: 'call_x1',
          index: 0,
          type: 'function',
          function: { name: 'list_files', arguments: '{"path":"/","n":3}' },
        },
      ],
    }),
    chunk({ content: '' }, 'tool_calls'),
    { ...top, choices: [], usage: { prompt_tokens: 166, completion_tokens: 18, total_tokens: 184 } },
  ]
}

/** Counts reasoning beside the completion, and ends lines as Windows does. */
function xai(): JsonObject[] {
  const top = head('9c1d', 'grok-4', { system_fingerprint: 'fp_x' })
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...top,
    choices: pick({ role: 'assistant', ...delta }, finish),
  })
  return [
    chunk({ reasoning_content: 'Thinking… ' }),
    chunk({ reasoning_content: 'done.' }),
    chunk({ content: 'Four' }),
    chunk({ content: ' ✓' }),
    chunk({}, 'stop'),
    {
      ...top,
      choices: [],
      usage: {
        prompt_tokens: 12,
        completion_tokens: 2,
        total_tokens: 331,
        prompt_tokens_details: { text_tokens: 12, cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 317 },
        num_sources_used: 0,
      },
    },
  ]
}

function perplexity(): JsonObject[] {
  const top = head('7f1', 'sonar', {
    citations: ['https://a.example', 'https://b.example'],
    search_results: [{ title: 'A', url: 'https://a.example' }],
  })
  const usage = (completion: number): JsonObject => ({
    usage: { prompt_tokens: 5, completion_tokens: completion, total_tokens: 5 + completion },
  })
  return [
    { ...top, choices: pick({ role: 'assistant', content: 'It is' }), ...usage(2) },
    { ...top, choices: pick({ content: ' so [1].' }), ...usage(6) },
    { ...top, choices: pick({ content: '' }, 'stop'), ...usage(6) },
  ]
}

const whole = (
  message: JsonObject,
  finish: string,
  usage: JsonObject,
  more: JsonObject = {},
): JsonObject => ({
  id: 'chatcmpl-B',
  object: 'chat.completion',
  created: 1_764_000_000,
  model: 'some-model',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: finish }],
  usage,
  ...more,
})

const start = (usage: JsonObject): JsonObject => ({
  type: 'message_start',
  message: {
    id: 'msg_01A',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  },
})
const block = (index: number, content_block: JsonObject): JsonObject => ({
  type: 'content_block_start',
  index,
  content_block,
})
const more = (index: number, delta: JsonObject): JsonObject => ({ type: 'content_block_delta', index, delta })
const stop = (index: number): JsonObject => ({ type: 'content_block_stop', index })
const ended = (stop_reason: string, usage: JsonObject): JsonObject[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
]

function claudeText(): JsonObject[] {
  return [
    start({ input_tokens: 12, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }),
    block(0, { type: 'text', text: '' }),
    { type: 'ping' },
    ...['Hello', '! I', "'m well – ", '谢谢'].map((text) => more(0, { type: 'text_delta', text })),
    stop(0),
    ...ended('end_turn', { input_tokens: 12, cache_read_input_tokens: 0, output_tokens: 30 }),
  ]
}

function claudeTools(): JsonObject[] {
  return [
    start({
      input_tokens: 20,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 30,
      output_tokens: 1,
    }),
    block(0, { type: 'thinking', thinking: '', signature: '' }),
    more(0, { type: 'thinking_delta', thinking: 'Væl' }),
    more(0, { type: 'thinking_delta', thinking: ', þá' }),
    more(0, { type: 'signature_delta', signature: 'EuY' }),
    stop(0),
    block(1, { type: 'text', text: '' }),
    more(1, { type: 'text_delta', text: 'Góðan' }),
    more(1, { type: 'text_delta', text: ' daginn' }),
    stop(1),
    block(2, { type: 'tool_use', id: 'toolu_01', name: 'list', input: {} }),
    more(2, { type: 'input_json_delta', partial_json: '' }),
    more(2, { type: 'input_json_delta', partial_json: '{"path":' }),
    more(2, { type: 'input_json_delta', partial_json: '"/tmp"}' }),
    stop(2),
    block(3, { type: 'tool_use', id: 'toolu_02', name: 'now', input: {} }),
    stop(3),
    ...ended('tool_use', { output_tokens: 48 }),
  ]
}

const sdkUsage3 = (input: number, cached: number, output: number, reasoning: number): JsonObject => ({
  inputTokens: { total: input, noCache: input - cached, cacheRead: cached },
  outputTokens: { total: output, text: output - reasoning, reasoning },
  raw: { prompt_tokens: input, completion_tokens: output },
})

function sdkText(): JsonObject[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r-1', modelId: 'm' },
    { type: 'text-start', id: '0' },
    ...['Ça', ' va', ' bien'].map((delta): JsonObject => ({ type: 'text-delta', id: '0', delta })),
    { type: 'text-end', id: '0' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: sdkUsage3(31, 8, 9, 0) },
  ]
}

function sdkTools(): JsonObject[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'reasoning-start', id: 'r0' },
    { type: 'reasoning-delta', id: 'r0', delta: 'Hm' },
    { type: 'reasoning-delta', id: 'r0', delta: '…' },
    { type: 'reasoning-end', id: 'r0' },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'Wait. ' },
    { type: 'text-end', id: '0' },
    { type: 'tool-input-start', id: 'c1', toolName: 'weather' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"in":' },
    { type: 'tool-input-delta', id: 'c1', delta: '"Oslo"}' },
    { type: 'tool-input-end', id: 'c1' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"in":"Oslo"}' },
    { type: 'tool-call', toolCallId: 'c2', toolName: 'now', input: '{"tz":1}' },
    {
      type: 'finish',
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage: sdkUsage3(50, 0, 25, 6),
    },
  ]
}

function sdkOld(): JsonObject[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '0' },
    ...['Ja', ', gern'].map((delta): JsonObject => ({ type: 'text-delta', id: '0', delta })),
    { type: 'text-end', id: '0' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'now', input: '{}' },
    {
      type: 'finish',
      finishReason: 'tool-calls',
      usage: { inputTokens: 14, outputTokens: 6, totalTokens: 20, reasoningTokens: 0, cachedInputTokens: 4 },
    },
  ]
}

const COUNTS = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 }
const CALLS: Json[] = [
  { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"in":"Rome"}' } },
  { id: 'call_2', type: 'function', function: { name: 'now', arguments: '{"at":2}' } },
]

export const RECORDINGS: readonly Recording[] = [
  { name: 'openai', language: 'openai', events: openai() },
  { name: 'openai-tools', language: 'openai', events: openaiTools() },
  { name: 'openai-refusal', language: 'openai', events: openaiRefusal() },
  { name: 'azure', language: 'openai', events: azure() },
  { name: 'gemini', language: 'gemini', events: gemini() },
  { name: 'deepseek', language: 'openai', events: deepseek() },
  { name: 'vllm', language: 'openai', events: vllm() },
  { name: 'mistral', language: 'openai', events: mistral() },
  { name: 'groq', language: 'openai', events: groq() },
  { name: 'openrouter', language: 'openai', events: openrouter(), before: ': OPENROUTER PROCESSING\n\n' },
  { name: 'llama.cpp', language: 'openai', events: llamaCpp() },
  { name: 'ollama', language: 'openai', events: ollama() },
  { name: 'xai', language: 'openai', events: xai(), newline: '\r\n' },
  { name: 'perplexity', language: 'openai', events: perplexity() },
  {
    name: 'openai-body',
    language: 'openai',
    body: whole({ content: 'Grüße "aus" Köln', refusal: null, annotations: [] }, 'stop', {
      ...COUNTS,
      prompt_tokens_details: { cached_tokens: 10 },
    }),
  },
  {
    name: 'openai-tools-body',
    language: 'openai',
    body: whole({ content: null, tool_calls: CALLS }, 'tool_calls', COUNTS),
  },
  {
    name: 'deepseek-body',
    language: 'openai',
    body: whole({ content: 'Vier', reasoning_content: 'Zwei und zwei' }, 'stop', {
      ...COUNTS,
      completion_tokens_details: { reasoning_tokens: 7 },
      prompt_cache_hit_tokens: 4,
      prompt_cache_miss_tokens: 26,
    }),
  },
  {
    name: 'gemini-body',
    language: 'gemini',
    body: whole({ content: 'Olá', tool_calls: [CALLS[0]!] }, 'stop', { ...COUNTS, total_tokens: 60 }),
  },
  {
    name: 'mistral-body',
    language: 'openai',
    body: whole(
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
          { type: 'text', text: 'Voilà' },
        ],
      },
      'stop',
      COUNTS,
    ),
  },
  {
    name: 'refusal-body',
    language: 'openai',
    body: whole({ content: null, refusal: 'No.' }, 'stop', COUNTS),
  },
  { name: 'anthropic', language: 'anthropic', events: claudeText() },
  { name: 'anthropic-tools', language: 'anthropic', events: claudeTools() },
  {
    name: 'anthropic-body',
    language: 'anthropic',
    body: {
      id: 'msg_02',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [
        { type: 'thinking', thinking: 'Væl', signature: 'EuY' },
        { type: 'text', text: 'Góðan daginn' },
        { type: 'tool_use', id: 'toolu_01', name: 'list', input: { path: '/tmp', n: 2 } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 20,
        cache_creation_input_tokens: 5,
        cache_read_input_tokens: 40,
        output_tokens: 33,
      },
    },
  },
  { name: 'ai-sdk', language: 'aisdk-v3', events: sdkText() },
  { name: 'ai-sdk-tools', language: 'aisdk-v3', events: sdkTools() },
  { name: 'ai-sdk-2', language: 'aisdk-v2', events: sdkOld() },
  {
    name: 'ai-sdk-result',
    language: 'aisdk-v3',
    body: {
      content: [
        { type: 'reasoning', text: 'Hm' },
        { type: 'text', text: 'Wait.' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"in":"Oslo"}' },
      ],
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage: sdkUsage3(50, 10, 25, 6),
      warnings: [],
      response: { id: 'r-2' },
    },
  },
]
