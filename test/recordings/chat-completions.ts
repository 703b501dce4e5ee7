import {
  counts,
  type Json,
  type JsonObject,
  type RecordedBody,
  type RecordedStream,
  reply,
} from './recording.js'

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
    ...['**', 'Grüße', ' aus', ' "Köln"', ' \\o/ ', '\u{1f389}\n'].map((content, at) =>
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
function gemini(call: JsonObject): JsonObject[] {
  const top = head('Zr8', 'gemini-2.5-flash')
  const usage = (completion: number, total: number): JsonObject => ({
    usage: { prompt_tokens: 9, completion_tokens: completion, total_tokens: total },
  })
  const made = {
    function: { name: 'weather', arguments: '{"in":"São Paulo"}' },
    type: 'function',
    index: 0,
    ...call,
  }
  return [
    { ...top, choices: pick({ content: 'Olá', role: 'assistant' }), ...usage(1, 40) },
    { ...top, choices: pick({ content: ', você', role: 'assistant' }), ...usage(3, 42) },
    { ...top, choices: pick({ role: 'assistant', tool_calls: [made] }, 'stop'), ...usage(12, 60) },
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
    ...['{', '"', 'location', '"', ':"', 'Köln', '"', '}'].map((piece) =>
      chunk(callPiece(0, { arguments: piece })),
    ),
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

function mistral(content: '' | null, call: JsonObject): JsonObject[] {
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
    chunk({ content, tool_calls: [{ id: 'gSIMJiOkT', ...call }] }, 'tool_calls', {
      usage: { prompt_tokens: 124, total_tokens: 146, completion_tokens: 22 },
    }),
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

const COUNTS = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 }
const CALLS: Json[] = [
  { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"in":"Rome"}' } },
  { id: 'call_2', type: 'function', function: { name: 'now', arguments: '{"at":2}' } },
]

type Spoken = 'openai' | 'gemini'

/** Streams of chat completions. */
export const chatStreams: readonly RecordedStream<Spoken>[] = [
  {
    name: 'OpenAI',
    language: 'openai',
    events: openai(),
    reply: reply({ text: '**Grüße aus "Köln" \\o/ \u{1f389}\n' }),
    counts: counts(1_516, 30, { cached: 1_024 }),
  },
  {
    name: 'OpenAI with two calls',
    language: 'openai',
    events: openaiTools(),
    reply: reply({
      toolCalls: [
        { id: 'call_aB1', name: 'get_weather', arguments: '{"city":"Köln"}' },
        { id: 'call_aB2', name: 'get_time', arguments: '{"zone":"CET"}' },
      ],
      finishReason: 'tool_calls',
    }),
    counts: counts(88, 61, { reasoning: 24 }),
  },
  {
    name: 'OpenAI with a refusal',
    language: 'openai',
    events: openaiRefusal(),
    reply: reply({ refusal: 'I cannot help with that.' }),
    counts: counts(40, 9),
  },
  {
    name: 'Azure',
    language: 'openai',
    events: azure(),
    reply: reply({ text: 'The answer is 42.' }),
    counts: counts(19, 5),
  },
  {
    name: 'Gemini',
    language: 'gemini',
    events: gemini({
      id: 'function-call-77',
      extra_content: { google: { thought_signature: 'c2ln' } },
    }),
    reply: reply({
      text: 'Olá, você',
      toolCalls: [{ id: 'function-call-77', name: 'weather', arguments: '{"in":"São Paulo"}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(9, 51),
  },
  {
    name: 'Gemini with a call that has no id',
    language: 'gemini',
    events: gemini({ id: '' }),
    reply: reply({
      text: 'Olá, você',
      toolCalls: [{ id: undefined, name: 'weather', arguments: '{"in":"São Paulo"}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(9, 51),
  },
  {
    name: 'DeepSeek',
    language: 'openai',
    events: deepseek(),
    reply: reply({
      text: 'Moment',
      reasoning: 'Der Wetterbericht…',
      toolCalls: [{ id: 'call_00_x', name: 'weather', arguments: '{"location":"Köln"}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(339, 83, { cached: 320, reasoning: 39 }),
  },
  {
    name: 'vLLM',
    language: 'openai',
    events: vllm(),
    reply: reply({ text: 'It is 7', reasoning: 'Let me see' }),
    counts: counts(21, 21),
  },
  {
    name: 'Mistral',
    language: 'openai',
    events: mistral('', { function: { name: 'weather', arguments: '{"at": "Nîmes"}' }, index: 0 }),
    reply: reply({
      text: 'Voilà !',
      reasoning: 'Voyons',
      toolCalls: [{ id: 'gSIMJiOkT', name: 'weather', arguments: '{"at": "Nîmes"}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(124, 22),
  },
  {
    name: 'Mistral with arguments as an object',
    language: 'openai',
    events: mistral(null, { function: { name: 'weather', arguments: { at: 'Nîmes' } } }),
    reply: reply({
      text: 'Voilà !',
      reasoning: 'Voyons',
      toolCalls: [{ id: 'gSIMJiOkT', name: 'weather', arguments: '{"at":"Nîmes"}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(124, 22),
  },
  {
    name: 'Groq',
    language: 'openai',
    events: groq(),
    reply: reply({
      reasoning: 'Okay, 天気',
      toolCalls: [
        { id: 'tk85', name: 'weather', arguments: '{"in":"東京"}' },
        { id: 'tk86', name: 'now', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
    }),
    counts: counts(210, 15, { reasoning: 5 }),
  },
  {
    name: 'OpenRouter, with comments while it waits',
    language: 'openai',
    events: openrouter(),
    before: ': OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n',
    reply: reply({ text: 'Done – ok', reasoning: 'First, think.' }),
    counts: counts(12, 20, { cached: 3, reasoning: 11 }),
  },
  {
    name: 'llama.cpp',
    language: 'openai',
    events: llamaCpp(),
    reply: reply({ text: 'One, two, 3' }),
    counts: counts(70, 6),
  },
  {
    name: 'Ollama',
    language: 'openai',
    events: ollama(),
    reply: reply({
      text: 'Sure. ',
      toolCalls: [{ id: 'call_x1', name: 'list_files', arguments: '{"path":"/","n":3}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(166, 18),
  },
  {
    name: 'xAI',
    language: 'openai',
    events: xai(),
    newline: '\r\n',
    reply: reply({ text: 'Four ✓', reasoning: 'Thinking… done.' }),
    counts: counts(12, 319, { cached: 3, reasoning: 317 }),
  },
  {
    name: 'Perplexity',
    language: 'openai',
    events: perplexity(),
    reply: reply({ text: 'It is so [1].' }),
    counts: counts(5, 6),
  },
]

/** Chat completions in one body. */
export const chatBodies: readonly RecordedBody<Spoken>[] = [
  {
    name: 'OpenAI in one body',
    language: 'openai',
    body: whole({ content: 'Grüße "aus" Köln', refusal: null, annotations: [] }, 'stop', {
      ...COUNTS,
      prompt_tokens_details: { cached_tokens: 10 },
    }),
    reply: reply({ text: 'Grüße "aus" Köln' }),
    counts: counts(30, 12, { cached: 10 }),
  },
  {
    name: 'OpenAI with two calls in one body',
    language: 'openai',
    body: whole({ content: null, tool_calls: CALLS }, 'tool_calls', COUNTS),
    reply: reply({
      toolCalls: [
        { id: 'call_1', name: 'weather', arguments: '{"in":"Rome"}' },
        { id: 'call_2', name: 'now', arguments: '{"at":2}' },
      ],
      finishReason: 'tool_calls',
    }),
    counts: counts(30, 12),
  },
  {
    name: 'DeepSeek in one body',
    language: 'openai',
    body: whole({ content: 'Vier', reasoning_content: 'Zwei und zwei' }, 'stop', {
      ...COUNTS,
      completion_tokens_details: { reasoning_tokens: 7 },
      prompt_cache_hit_tokens: 4,
      prompt_cache_miss_tokens: 26,
    }),
    reply: reply({ text: 'Vier', reasoning: 'Zwei und zwei' }),
    counts: counts(30, 12, { cached: 4, reasoning: 7 }),
  },
  {
    name: 'Gemini in one body',
    language: 'gemini',
    body: whole({ content: 'Olá', tool_calls: [CALLS[0]!] }, 'stop', { ...COUNTS, total_tokens: 60 }),
    reply: reply({
      text: 'Olá',
      toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{"in":"Rome"}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(30, 30),
  },
  {
    name: 'Mistral in one body',
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
    reply: reply({ text: 'Voilà', reasoning: 'Hm' }),
    counts: counts(30, 12),
  },
  {
    name: 'OpenAI with a refusal in one body',
    language: 'openai',
    body: whole({ content: null, refusal: 'No.' }, 'stop', COUNTS),
    reply: reply({ refusal: 'No.' }),
    counts: counts(30, 12),
  },
]
